// Aligned plain-text tables for people: left-aligned words, right-aligned numbers, two spaces between columns.
//
//   planner     step       slowdown
//   fast-only   103.2 ms      1.00x
//
// Rows may be printed one at a time as they are known: widths then come from the header and `min_width`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::report {

enum class Align { kLeft, kRight };

struct TableColumn {
  std::string title;
  Align align = Align::kLeft;
  std::size_t min_width = 0;
};

class TextTable {
 public:
  explicit TextTable(std::vector<TableColumn> columns) : columns_(std::move(columns)) {}

  void add_row(std::vector<std::string> cells);  // one cell per column
  std::string text() const;                      // header, rule and rows; no trailing spaces

 private:
  std::vector<TableColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "  name   value" lines, the values aligned.
std::string format_fields(const std::vector<std::pair<std::string, std::string>>& fields);

// A list item: "- words", broken between words so that lines have at most `width` characters.
std::string format_item(std::string_view text, std::size_t width = 110);

}  // namespace sluice::report
