#include "sluice/report/page/chart_page.hpp"

#include <fmt/format.h>

#include "sluice/base/text/markup.hpp"
#include "sluice/report/json_document.hpp"
#include "sluice/report/page/page_frame.hpp"
#include "sluice/report/page/section_parts.hpp"

namespace sluice::report {

std::string chart_page(const ChartPage& page) {
  const nlohmann::json document = stamped_document(page.command, page.document);
  const bool emulated = document.value(nlohmann::json::json_pointer("/run/emulated"), false);
  const std::string numbers =
      page_section("numbers", "The numbers", fmt::format("<pre tabindex=\"0\">{}</pre>\n", escape_markup(page.text)));
  return framed_page(page.title,
                     emulated ? page_notice("Emulated: times are those of the hardware imitated.") : std::string(),
                     "<main>\n" + numbers + "</main>\n", document);
}

}  // namespace sluice::report
