#include "sluice/report/page/section_parts.hpp"

#include <fmt/format.h>

#include "sluice/base/text/markup.hpp"

namespace sluice::report {

std::string page_section(std::string_view id, std::string_view title, const std::string& content) {
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}</section>\n", id, title,
      content);
}

std::string caption(const std::string& html) { return fmt::format("<p class=\"caption\">{}</p>\n", html); }

std::string chart_place(std::string_view id, std::string_view label) {
  return fmt::format(
      "<figure class=\"chart\" id=\"chart-{}\" tabindex=\"0\" role=\"img\" aria-label=\"{}\"></figure>\n", id,
      escape_markup(label));
}

std::string folded_table(std::string_view summary, const HtmlTable& table) {
  return fmt::format("<details open><summary>{}</summary>\n{}</details>\n", summary, table.html());
}

std::string code(const std::string& html) { return fmt::format("<code>{}</code>", html); }

std::string entry(std::string_view list, std::size_t index) { return fmt::format("{}/{}", list, index); }

std::string note_of_emulation(const ShownNumbers& numbers) {
  const std::string note = numbers.text("/emulated");
  return note.empty() ? note : fmt::format(" ({})", note);
}

}  // namespace sluice::report
