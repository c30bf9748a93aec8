#include "sluice/report/page/page_frame.hpp"

#include <fmt/format.h>

#include "sluice/base/text/markup.hpp"
#include "sluice/report/page/assets.hpp"

namespace sluice::report {
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

}  // namespace

std::string page_notice(const std::string& html) {
  return fmt::format("<p class=\"notice\" role=\"note\">{}</p>\n", html);
}

std::string framed_page(const std::string& title, const std::string& notices, const std::string& body,
                        const nlohmann::json& document) {
  std::string all_notices = notices;
  if (page_scripts().empty()) {
    all_notices +=
        page_notice(fmt::format("There are no charts: {}. The tables are complete.", escape_markup(why_no_charts())));
  }
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:\">\n"
      "<title>Sluice: {0}</title>\n<style>\n{1}\n</style>\n</head>\n<body>\n<header>\n<h1>{0}</h1>\n{2}</header>\n",
      escape_markup(title), page_style(), all_notices);
  html += body + "<script type=\"application/json\" id=\"report-data\">" + embedded(document) + "</script>\n";
  if (!page_scripts().empty()) html += fmt::format("<script>\n{}\n</script>\n", page_scripts());
  return html + "</body>\n</html>\n";
}

}  // namespace sluice::report
