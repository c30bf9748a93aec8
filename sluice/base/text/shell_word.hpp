// Commands that are printed to be copied.
#pragma once

#include <string>

namespace sluice {

// A word as a POSIX shell reads it back: between single quotes where it needs them.
std::string shell_word(const std::string& word);

}  // namespace sluice
