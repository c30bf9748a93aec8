#include "sluice/reproduce/item_cells.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>

namespace sluice {
namespace {

std::string with_unit(const std::string& digits, const std::string& unit) {
  if (unit.empty()) return digits;
  return unit == "x" ? digits + unit : fmt::format("{} {}", digits, unit);
}

// As many digits as the item's file has.
std::string published_text(const PaperRow& row) {
  const Published& published = row.published;
  const std::string high = with_unit(fmt::format("{}", published.high), row.unit);
  return published.low == published.high ? high : fmt::format("{} to {}", published.low, high);
}

// "row 3", "rows 1, 3 to 5"
std::string rows_text(const std::vector<std::size_t>& rows) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t last = i;
    while (last + 1 < rows.size() && rows[last + 1] == rows[last] + 1) ++last;
    const bool is_pair = last == i + 1;
    parts.push_back(last == i ? fmt::format("{}", rows[i])
                              : fmt::format("{}{}{}", rows[i], is_pair ? ", " : " to ", rows[last]));
    i = last + 1;
  }
  return fmt::format("{} {}", rows.size() == 1 ? "row" : "rows", fmt::join(parts, ", "));
}

}  // namespace

bool is_number_column(const std::string& title) { return title == "#" || title == "published" || title == "ours"; }

std::string figure_text(double figure, const std::string& unit) {
  const std::string digits = std::abs(figure) >= 1000 ? fmt::format("{:.0f}", figure) : fmt::format("{:#.3g}", figure);
  return with_unit(digits.ends_with('.') ? digits.substr(0, digits.size() - 1) : digits, unit);
}

const std::vector<std::string>& item_columns() {
  static const std::vector<std::string> columns = {"#",         "what", "model", "batch",  "setting",
                                                   "published", "ours", "how",   "verdict"};
  return columns;
}

std::vector<std::string> item_cells(const EvaluatedItem& item, std::size_t index) {
  const EvaluatedRow& evaluated = item.rows[index];
  const PaperRow& row = *evaluated.row;
  const std::string number = fmt::format("{}", index + 1);
  if (!row.not_addressed.empty())
    return {number, row.what, row.model, row.batch, row.setting, "", "", "", "not addressed"};
  return {number,
          row.what,
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
  std::map<std::string, std::vector<std::size_t>> rows_of;  // a note -> the rows that it is about, from 1
  std::vector<std::string> order;
  const auto note = [&](const char* kind, const std::string& text, std::size_t row) {
    if (text.empty()) return;
    std::vector<std::size_t>& rows = rows_of[fmt::format("{}: {}", kind, text)];
    if (rows.empty()) order.push_back(fmt::format("{}: {}", kind, text));
    rows.push_back(row);
  };
  for (std::size_t i = 0; i < item.rows.size(); ++i) {
    const PaperRow& row = *item.rows[i].row;
    note("Scaled", row.scaled, i + 1);
    note("Published numbers from", row.published_from, i + 1);
    note("Not addressed", row.not_addressed, i + 1);
    note("Missing", item.rows[i].missing, i + 1);
  }
  for (const std::string& text : order) {
    const std::vector<std::size_t>& rows = rows_of[text];
    notes.push_back(rows.size() == item.rows.size() ? text : fmt::format("{} ({})", text, rows_text(rows)));
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
