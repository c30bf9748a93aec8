#include "sluice/report/page/report_page.hpp"

#include <fmt/format.h>

#include "sluice/report/page/page_frame.hpp"
#include "sluice/report/page/report_sections.hpp"

namespace sluice::report {
namespace {

std::string notices(const ShownNumbers& numbers) {
  std::string html;
  if (const std::string emulated = numbers.text("/emulated"); !emulated.empty()) {
    html += page_notice(emulated + ": times are those of the hardware imitated.");
  }
  if (numbers.at("/complete") == false) {
    html += page_notice("This report was interrupted: some planners or budgets are missing.");
  }
  return html;
}

std::string navigation() {
  std::string html = "<nav aria-label=\"Sections\"><ul>";
  for (const auto& [id, name] : {std::pair{"memory", "Memory"},
                                 {"timeline", "Timeline"},
                                 {"planners", "Planners"},
                                 {"curve", "Time over memory"},
                                 {"more", "More memory"},
                                 {"breakdown", "Where time goes"},
                                 {"tensors", "Largest tensors"},
                                 {"machine", "Machine"},
                                 {"commands", "Commands"}}) {
    html += fmt::format("<li><a href=\"#{}\">{}</a></li>", id, name);
  }
  return html + "</ul></nav>\n";
}

}  // namespace

std::string report_page(const nlohmann::json& document) {
  const ShownNumbers numbers(document);
  std::string body = navigation() + "<main>\n";
  for (const auto section :
       {summary_section, memory_section, timeline_section, planners_section, curve_section, more_memory_section,
        breakdown_section, tensors_section, machine_section, commands_section}) {
    body += section(numbers);
  }
  return framed_page(document.value("title", ""), notices(numbers), body + "</main>\n", document);
}

}  // namespace sluice::report
