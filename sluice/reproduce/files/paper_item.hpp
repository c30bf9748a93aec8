// A figure or table of a paper, as benchmarks/papers/PAPER_ITEM.json says it: what was published, and where our numbers
// for it stand (docs/reproduce.md shows the file). Nothing in it says how ours turned out.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sluice/base/json_reader.hpp"
#include "sluice/base/result.hpp"
#include "sluice/reproduce/files/expression.hpp"
#include "sluice/reproduce/files/verdict.hpp"

namespace sluice {

struct PaperRow {
  std::string what;
  std::string model, batch, scaled, setting;  // ours; empty where there is none
  Published published;
  std::string published_from;  // how it is known: "text", "table", "read off the bars"
  std::string unit;
  Better better = Better::kNeither;
  Expression ours;
  std::string not_addressed;  // why there is no `ours`; then only `what` is certain to be there
};

struct PaperItem {
  std::string id, paper, item, title;
  std::vector<std::string> kept;  // results that its rows read
  std::vector<std::string> notes;
  std::vector<PaperRow> rows;
  std::string not_addressed;  // why it has no rows

  bool addressed() const { return not_addressed.empty(); }
};

// kBadInput names the field.
Status read_json(const JsonReader& reader, PaperItem& item);

}  // namespace sluice
