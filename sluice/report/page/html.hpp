// HTML for pages of results: escaped text, tables, and numbers that say where in the page's document they come from.
//
//   <data value="1779.2" data-at="/plan/predicted_ms">1.78 s</data>
//
// The page's document is embedded in it, so whoever doubts a number can look it up; a test looks up all of them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sluice/report/text_table.hpp"

namespace sluice::report {

class HtmlTable {
 public:
  explicit HtmlTable(std::vector<TableColumn> columns) : columns_(std::move(columns)) {}

  // Cells are HTML; `attributes` go into the row's tag.
  void add_row(std::vector<std::string> cells, std::string attributes = {});
  bool empty() const { return rows_.empty(); }
  std::string html() const;  // in a frame that scrolls sideways where a screen is too narrow

 private:
  struct Row {
    std::vector<std::string> cells;
    std::string attributes;
  };
  std::vector<TableColumn> columns_;
  std::vector<Row> rows_;
};

// Numbers of a document, by JSON pointer, as they are shown. What is missing or null is shown as a dash.
class ShownNumbers {
 public:
  explicit ShownNumbers(const nlohmann::json& document) : document_(document) {}

  std::string bytes(const std::string& at) const;
  std::string milliseconds(const std::string& at) const;
  std::string count(const std::string& at) const;
  std::string ratio(const std::string& at) const;    // "1.075×"
  std::string percent(const std::string& at) const;  // of a share: "7.5 %"
  std::string text(const std::string& at) const;     // a string, escaped; empty where there is none

  bool has(const std::string& at) const;
  const nlohmann::json& at(const std::string& pointer) const;  // null where there is none

 private:
  template <typename Format>
  std::string number(const std::string& at, Format format) const;

  const nlohmann::json& document_;
};

}  // namespace sluice::report
