// What the report page is drawn with: its style, and its scripts with the charting library. The build puts both into the
// program (cmake/sluice_page.cmake), so that a report needs no file beside it and no network. Text; lives as long as the program.
#pragma once

#include <string_view>

namespace sluice::report {

// For a <style> element; holds no "</style".
std::string_view page_style();

// For one <script> element at the end of the body; holds no "</script". Empty where the build had no library.
std::string_view page_scripts();

// Empty, or what was missing when the program was built: a sentence without its dot.
std::string_view why_no_charts();

}  // namespace sluice::report
