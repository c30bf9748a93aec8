// The HTML page of item_text.hpp.
#include <fmt/format.h>

#include "sluice/base/markup.hpp"
#include "sluice/reproduce/item_cells.hpp"
#include "sluice/reproduce/item_text.hpp"

namespace sluice {
namespace {

// On a small screen a table scrolls by itself. A verdict is a word, so that nobody needs the colour.
constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #fff; --line: #c9c9c9; --head: #f0f0f0; --good: #0b5d1e;
  --bad: #9a2a00; --quiet: #595959; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --paper: #16181b; --line: #44484d; --head: #23262a;
  --good: #7fd18f; --bad: #ffab87; --quiet: #a8a8a8; } }
body { color: var(--ink); background: var(--paper); font: 16px/1.5 system-ui, sans-serif; margin: 0 auto;
  max-width: 78rem; padding: 1rem; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { border: 1px solid var(--line); padding: .25rem .5rem; text-align: left; vertical-align: top; }
th { background: var(--head); }
td.figure { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.ahead, .matches, .agrees { color: var(--good); font-weight: 600; }
.behind, .differs { color: var(--bad); font-weight: 600; }
.quiet, ul { color: var(--quiet); }
nav a { display: inline-block; margin-right: 1rem; }
a { color: inherit; }
@media print { body { max-width: none; padding: 0; font-size: 11px; } nav { display: none; }
  .table { overflow: visible; } h3, tr { break-inside: avoid; } h3 { break-after: avoid; } }
)";

std::string table_head() {
  std::string head = "<thead><tr>";
  for (const std::string& title : item_columns()) head += fmt::format("<th scope=\"col\">{}</th>", title);
  return head + "</tr></thead>\n";
}

std::string table_line(const EvaluatedItem& item, std::size_t index) {
  const EvaluatedRow& row = item.rows[index];
  const std::vector<std::string> cells = item_cells(item, index);
  std::string line = "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string& title = item_columns()[i];
    std::string_view kind = is_number_column(title) ? "figure" : "";
    if (title == "verdict") kind = row.verdict ? to_string(*row.verdict) : "quiet";
    line += kind.empty() ? "<td>" : fmt::format("<td class=\"{}\">", kind);
    line += escape_markup(cells[i]) + "</td>";
  }
  return line + "</tr>\n";
}

std::string section_of(const EvaluatedItem& evaluated) {
  const PaperItem& item = *evaluated.item;
  std::string text =
      fmt::format("<h3 id=\"{}\">{}, {}</h3>\n<p>{}. <code>sluice reproduce {}</code></p>\n", item.id,
                  escape_markup(item.paper), escape_markup(item.item), escape_markup(item.title), item.id);
  if (!item.addressed()) {
    return text + fmt::format("<p class=\"quiet\">Not addressed: {}</p>\n", escape_markup(item.not_addressed));
  }
  text += fmt::format("<div class=\"table\" role=\"region\" aria-label=\"{}, {}\" tabindex=\"0\"><table>\n{}<tbody>\n",
                      escape_markup(item.paper), escape_markup(item.item), table_head());
  for (std::size_t i = 0; i < evaluated.rows.size(); ++i) text += table_line(evaluated, i);
  text += "</tbody></table></div>\n<ul>\n";
  for (const std::string& note : item_notes(evaluated)) text += fmt::format("<li>{}</li>\n", escape_markup(note));
  text += fmt::format("<li>Ours from: <code>{}</code></li>\n", fmt::join(item.kept, "</code>, <code>"));
  return text + "</ul>\n";
}

std::string contents_of(const std::vector<EvaluatedItem>& items) {
  std::string text = "<nav>\n";
  for (const EvaluatedItem& each : items) {
    text += fmt::format("<a href=\"#{}\">{}, {}</a>\n", each.item->id, escape_markup(each.item->paper),
                        escape_markup(each.item->item));
  }
  return text + "</nav>\n";
}

}  // namespace

std::string papers_page(const std::vector<EvaluatedItem>& items) {
  const VerdictCount count = count_verdicts(items);
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>The papers' figures and tables, beside ours</title>\n<style>{}</style>\n</head>\n<body>\n"
      "<h1>The papers' figures and tables, beside ours</h1>\n<p>{}</p>\n",
      kStyle, count_text(count));
  if (const std::string stale = stale_text(count); !stale.empty()) text += fmt::format("<p>{}</p>\n", stale);
  text +=
      "<p>Verdicts are computed: within a tenth of what is published ours matches (or agrees, where neither more nor "
      "less is better). Emulated: a slower memory, link or processor was imitated. Simulated: nothing was run.</p>\n";
  text += contents_of(items);
  std::string paper;
  for (const EvaluatedItem& each : items) {
    if (each.item->paper != paper) text += fmt::format("<h2>{}</h2>\n", escape_markup(each.item->paper));
    paper = each.item->paper;
    text += section_of(each);
  }
  return text + "</body>\n</html>\n";
}

}  // namespace sluice
