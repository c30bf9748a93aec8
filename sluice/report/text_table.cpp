#include "sluice/report/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/check.hpp"

namespace sluice::report {
namespace {

// Characters rather than bytes, so that a multi-byte sign does not shift its column.
std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

void append_padded(std::string& line, const std::string& cell, std::size_t width, Align align) {
  const std::string padding(width - std::min(width, display_width(cell)), ' ');
  line += align == Align::kRight ? padding + cell : cell + padding;
}

void append_line(std::string& text, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + "\n";
}

}  // namespace

void TextTable::add_row(std::vector<std::string> cells) {
  SLUICE_CHECK(cells.size() == columns_.size(), "a row needs one cell for each column");
  rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = std::max(columns_[c].min_width, display_width(columns_[c].title));
    for (const auto& row : rows_) width = std::max(width, display_width(row[c]));
    widths.push_back(width);
  }
  std::string header;
  std::string rule;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    append_padded(header, columns_[c].title, widths[c], columns_[c].align);
    rule += std::string(widths[c], '-');
    if (c + 1 < columns_.size()) {
      header += "  ";
      rule += "  ";
    }
  }
  std::string text;
  append_line(text, header);
  append_line(text, rule);
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      append_padded(line, row[c], widths[c], columns_[c].align);
      if (c + 1 < columns_.size()) line += "  ";
    }
    append_line(text, line);
  }
  return text;
}

std::string format_fields(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::size_t width = 0;
  for (const auto& [name, value] : fields) width = std::max(width, display_width(name));
  std::string text;
  for (const auto& [name, value] : fields) {
    std::string line = "  ";
    append_padded(line, name, width, Align::kLeft);
    append_line(text, line + "  " + value);
  }
  return text;
}

std::string format_item(std::string_view text, std::size_t width) {
  std::string item;
  std::string line = "-";
  while (!text.empty()) {
    const std::string word(text.substr(0, text.find(' ')));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (line.size() > 1 && display_width(line) + 1 + display_width(word) > width) {
      append_line(item, line);
      line = " ";
    }
    line += " " + word;
  }
  append_line(item, line);
  return item;
}

}  // namespace sluice::report
