// The Markdown page of item_text.hpp.
#include <fmt/format.h>

#include <algorithm>

#include "sluice/reproduce/item_cells.hpp"
#include "sluice/reproduce/item_text.hpp"

namespace sluice {
namespace {

constexpr std::string_view kHead = R"(# The papers' figures and tables, beside ours

Written by `sluice reproduce all`; [reproduce.md](../reproduce.md) says how rows and verdicts come about. *Published* is
what the paper's authors measured on their machine, *ours* what this repository keeps from a small one. Verdicts are
computed: within a tenth of what is published ours *matches* (or *agrees*, where neither more nor less is better), else
it is *ahead*, *behind* or *differs*. *Emulated*: a slower memory, link or processor was imitated. *Simulated*: nothing
was run.
)";

std::string escape_cell(const std::string& text) {
  std::string escaped;
  for (const char each : text) {
    if (each == '|' || each == '*' || each == '_' || each == '<') escaped += '\\';
    escaped += each;
  }
  return escaped;
}

std::string table_row(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += fmt::format(" {} |", escape_cell(cell));
  return row + "\n";
}

std::string markdown_of(const EvaluatedItem& evaluated) {
  const PaperItem& item = *evaluated.item;
  std::string text = fmt::format("\n### {}, {}\n\n{}. `sluice reproduce {}`\n\n", item.paper, item.item,
                                 escape_cell(item.title), item.id);
  if (!item.addressed()) return text + fmt::format("Not addressed: {}\n", escape_cell(item.not_addressed));
  text += table_row(item_columns());
  for (const std::string& title : item_columns()) text += is_number_column(title) ? "|---:" : "|---";
  text += "|\n";
  for (std::size_t i = 0; i < evaluated.rows.size(); ++i) text += table_row(item_cells(evaluated, i));
  text += "\n";
  for (const std::string& note : item_notes(evaluated)) text += fmt::format("* {}\n", escape_cell(note));
  text += fmt::format("* Ours from: `{}`\n", fmt::join(item.kept, "`, `"));
  return text;
}

}  // namespace

std::string papers_markdown(const std::vector<EvaluatedItem>& items) {
  const VerdictCount count = count_verdicts(items);
  std::string text = fmt::format("{}\n{}\n", kHead, count_text(count));
  if (const std::string stale = stale_text(count); !stale.empty()) text += fmt::format("\n{}\n", stale);
  std::string paper;
  for (const EvaluatedItem& each : items) {
    if (each.item->paper != paper) text += fmt::format("\n## {}\n", each.item->paper);
    paper = each.item->paper;
    text += markdown_of(each);
  }
  return text;
}

}  // namespace sluice
