#include "sluice/reproduce/item_cells.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>

namespace sluice {
namespace {

std::string published_text(const PaperRow& row) {
  if (row.published.low == row.published.high) return figure_text(row.published.low, row.unit);
  return fmt::format("{} to {}", figure_text(row.published.low, ""), figure_text(row.published.high, row.unit));
}

}  // namespace

std::string figure_text(double figure, const std::string& unit) {
  const std::string digits = std::abs(figure) >= 1000 ? fmt::format("{:.0f}", figure) : fmt::format("{:#.3g}", figure);
  std::string text = digits.ends_with('.') ? digits.substr(0, digits.size() - 1) : digits;
  if (!unit.empty()) text += unit == "x" ? unit : " " + unit;
  return text;
}

const std::vector<std::string>& item_columns() {
  static const std::vector<std::string> columns = {"what",      "model", "batch", "setting",
                                                   "published", "ours",  "how",   "verdict"};
  return columns;
}

std::vector<std::string> item_cells(const EvaluatedRow& evaluated) {
  const PaperRow& row = *evaluated.row;
  if (!row.not_addressed.empty()) return {row.what, row.model, row.batch, row.setting, "", "", "", "not addressed"};
  return {row.what,
          row.model,
          row.scaled.empty() ? row.batch : row.batch + " (scaled)",
          row.setting,
          published_text(row),
          evaluated.ours ? figure_text(*evaluated.ours, row.unit) : "",
          evaluated.how,
          evaluated.ours ? evaluated.verdict_text() : "missing"};
}

std::vector<std::string> item_notes(const EvaluatedItem& item) {
  std::vector<std::string> notes = item.item->notes;
  std::map<std::string, std::vector<std::string>> rows_of;  // a note -> the rows that it is about
  std::vector<std::string> order;
  const auto note = [&](const std::string& text, const PaperRow& row) {
    std::vector<std::string>& rows = rows_of[text];
    if (rows.empty()) order.push_back(text);
    rows.push_back(row.what + (row.model.empty() ? "" : " of " + row.model));
  };
  for (const EvaluatedRow& each : item.rows) {
    const PaperRow& row = *each.row;
    if (!row.scaled.empty()) note("Scaled: " + row.scaled, row);
    if (!row.published_from.empty()) note("Published numbers from: " + row.published_from, row);
    if (!row.not_addressed.empty()) note("Not addressed: " + row.not_addressed, row);
    if (!each.missing.empty()) note("Missing: " + each.missing, row);
  }
  for (const std::string& text : order) {
    const std::vector<std::string>& rows = rows_of[text];
    const bool all = rows.size() == item.rows.size();
    notes.push_back(all ? text + "." : fmt::format("{} ({}).", text, fmt::join(rows, "; ")));
  }
  return notes;
}

std::string count_text(const VerdictCount& count) {
  std::string text =
      fmt::format("{} items, {} of them not addressed; {} rows", count.items, count.items_not_addressed, count.rows);
  std::string_view between = ": ";
  for (const auto& [verdict, rows] : count.verdicts) {
    text += fmt::format("{}{} {}", between, rows, to_string(verdict));
    between = ", ";
  }
  if (count.missing > 0) text += fmt::format("{}{} missing", between, count.missing);
  if (count.not_addressed > 0)
    text += fmt::format("{}{} not addressed", count.missing > 0 ? ", " : between, count.not_addressed);
  return text + ".";
}

std::string stale_text(const VerdictCount& count) {
  if (count.stale == 0) return "";
  return fmt::format("{} of these rows read results that are older than the code they measure (stale).", count.stale);
}

}  // namespace sluice
