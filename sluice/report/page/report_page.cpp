#include "sluice/report/page/report_page.hpp"

#include <fmt/format.h>

#include "sluice/base/markup.hpp"
#include "sluice/report/page/assets.hpp"
#include "sluice/report/page/report_sections.hpp"

namespace sluice {
namespace {

// Nothing in a script element may look like markup.
std::string embedded(const nlohmann::json& document) {
  std::string text;
  for (const char each : document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) {
    if (each == '<') {
      text += "\\u003c";
    } else {
      text += each;
    }
  }
  return text;
}

std::string notices(const ShownNumbers& numbers) {
  std::string html;
  if (const std::string emulated = numbers.text("/emulated"); !emulated.empty()) {
    html +=
        fmt::format("<p class=\"notice\" role=\"note\">{}: times are those of the hardware imitated.</p>\n", emulated);
  }
  if (numbers.at("/complete") == false) {
    html +=
        "<p class=\"notice\" role=\"note\">This report was interrupted: some planners or budgets are missing.</p>\n";
  }
  if (page_scripts().empty()) {
    html += fmt::format("<p class=\"notice\" role=\"note\">There are no charts: {}. The tables are complete.</p>\n",
                        escape_markup(why_no_charts()));
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
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:\">\n"
      "<title>Sluice: {0}</title>\n<style>\n{1}\n</style>\n</head>\n<body>\n<header>\n<h1>{0}</h1>\n{2}</header>\n",
      numbers.text("/title"), page_style(), notices(numbers));
  html += navigation() + "<main>\n";
  for (const auto section :
       {summary_section, memory_section, timeline_section, planners_section, curve_section, more_memory_section,
        breakdown_section, tensors_section, machine_section, commands_section}) {
    html += section(numbers);
  }
  html += "</main>\n<script type=\"application/json\" id=\"report-data\">" + embedded(document) + "</script>\n";
  if (!page_scripts().empty()) html += fmt::format("<script>\n{}\n</script>\n", page_scripts());
  return html + "</body>\n</html>\n";
}

}  // namespace sluice
