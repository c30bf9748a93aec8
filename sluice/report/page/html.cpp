#include "sluice/report/page/html.hpp"

#include <fmt/format.h>

#include "sluice/base/text/markup.hpp"
#include "sluice/base/units.hpp"

namespace sluice::report {

using nlohmann::json;

void HtmlTable::add_row(std::vector<std::string> cells, std::string attributes) {
  rows_.push_back({std::move(cells), std::move(attributes)});
}

std::string HtmlTable::html() const {
  const auto side = [](const TableColumn& column) { return column.align == Align::kRight ? " class=\"number\"" : ""; };
  std::string html = "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>";
  for (const TableColumn& column : columns_) {
    html += fmt::format("<th scope=\"col\"{}>{}</th>", side(column), escape_markup(column.title));
  }
  html += "</tr></thead><tbody>\n";
  for (const Row& row : rows_) {
    html += fmt::format("<tr{}{}>", row.attributes.empty() ? "" : " ", row.attributes);
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      html += fmt::format("<td{}>{}</td>", side(columns_.at(i)), row.cells[i]);
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

const json& ShownNumbers::at(const std::string& pointer) const {
  static const json none;
  const json::json_pointer where(pointer);
  return document_.contains(where) ? document_.at(where) : none;
}

bool ShownNumbers::has(const std::string& pointer) const { return !at(pointer).is_null(); }

template <typename Format>
std::string ShownNumbers::number(const std::string& pointer, Format format) const {
  const json& value = at(pointer);
  if (!value.is_number()) return "–";
  return fmt::format("<data value=\"{}\" data-at=\"{}\">{}</data>", value.dump(), escape_markup(pointer),
                     format(value));
}

std::string ShownNumbers::bytes(const std::string& pointer) const {
  return number(pointer, [](const json& value) { return format_bytes(value.get<Bytes>()); });
}

std::string ShownNumbers::milliseconds(const std::string& pointer) const {
  return number(pointer, [](const json& value) { return format_seconds(value.get<double>() / 1e3); });
}

std::string ShownNumbers::count(const std::string& pointer) const {
  return number(pointer, [](const json& value) { return value.dump(); });
}

std::string ShownNumbers::ratio(const std::string& pointer) const {
  return number(pointer, [](const json& value) { return fmt::format("{:.3f}×", value.get<double>()); });
}

std::string ShownNumbers::percent(const std::string& pointer) const {
  return number(pointer, [](const json& value) { return fmt::format("{:.1f} %", 100 * value.get<double>()); });
}

std::string ShownNumbers::text(const std::string& pointer) const {
  const json& value = at(pointer);
  return value.is_string() ? escape_markup(value.get<std::string>()) : "";
}

}  // namespace sluice::report
