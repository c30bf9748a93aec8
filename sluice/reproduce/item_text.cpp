#include "sluice/reproduce/item_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/report/text_table.hpp"
#include "sluice/reproduce/item_cells.hpp"

namespace sluice {
namespace {

std::string table_of(const EvaluatedItem& item) {
  std::vector<TableColumn> columns;
  for (const std::string& title : item_columns()) {
    columns.push_back({title, is_number_column(title) ? Align::kRight : Align::kLeft, 0});
  }
  TextTable table(columns);
  for (std::size_t i = 0; i < item.rows.size(); ++i) table.add_row(item_cells(item, i));
  return table.text();
}

}  // namespace

std::string item_text(const EvaluatedItem& evaluated) {
  const PaperItem& item = *evaluated.item;
  std::string text = fmt::format("{}, {}: {}\n", item.paper, item.item, item.title);
  if (!item.addressed()) return text + format_item("not addressed: " + item.not_addressed) + "\n";
  text += fmt::format("\n{}\n", table_of(evaluated));
  for (const std::string& note : item_notes(evaluated)) text += format_item(note) + "\n";
  return text;
}

nlohmann::json item_json(const EvaluatedItem& evaluated) {
  const PaperItem& item = *evaluated.item;
  nlohmann::json document = {{"id", item.id},
                             {"paper", item.paper},
                             {"item", item.item},
                             {"title", item.title},
                             {"kept", item.kept},
                             {"notes", item.notes},
                             {"rows", nlohmann::json::array()}};
  if (!item.addressed()) document["not_addressed"] = item.not_addressed;
  for (const EvaluatedRow& each : evaluated.rows) {
    const PaperRow& row = *each.row;
    if (!row.not_addressed.empty()) {
      document["rows"].push_back({{"what", row.what}, {"not_addressed", row.not_addressed}});
      continue;
    }
    document["rows"].push_back({{"what", row.what},
                                {"model", row.model},
                                {"batch", row.batch},
                                {"scaled", row.scaled},
                                {"setting", row.setting},
                                {"published", {row.published.low, row.published.high}},
                                {"published_from", row.published_from},
                                {"unit", row.unit},
                                {"better", to_string(row.better)},
                                {"ours", each.ours ? nlohmann::json(*each.ours) : nlohmann::json()},
                                {"missing", each.missing},
                                {"how", each.how},
                                {"verdict", each.verdict ? nlohmann::json(to_string(*each.verdict)) : nlohmann::json()},
                                {"stale", each.stale},
                                {"age_unknown", each.age_unknown}});
  }
  return document;
}

}  // namespace sluice
