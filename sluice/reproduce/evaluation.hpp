// Rows of papers' items with our figures in them: what each comes to, by kept results as they are now.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/reproduce/files/catalog.hpp"
#include "sluice/reproduce/kept_state.hpp"

namespace sluice {

struct EvaluatedRow {
  const PaperRow* row = nullptr;
  std::optional<double> ours;
  std::string missing;  // why there is no `ours`, where one was asked for
  std::optional<Verdict> verdict;
  std::string how;     // "executed", "executed, emulated", "simulated"; from the kept results, never from the item
  bool stale = false;  // it reads a result that is
  bool age_unknown = false;  // nobody can tell whether it does

  std::string verdict_text() const;  // with " (stale)"; "missing: why"; "not addressed"
};

struct EvaluatedItem {
  const PaperItem* item = nullptr;
  std::vector<EvaluatedRow> rows;
};

// Kept documents, each read once. Pointers stay good as long as the object lives.
class KeptDocuments {
 public:
  explicit KeptDocuments(std::filesystem::path folder) : folder_(std::move(folder)) {}
  Result<const nlohmann::json*> find(const std::string& name);

 private:
  std::filesystem::path folder_;
  std::map<std::string, Result<nlohmann::json>> read_;
};

EvaluatedItem evaluate_item(const PaperItem& item, const Catalog& catalog, KeptDocuments& documents,
                            KeptStates& states);

// How many rows have each verdict, and how many have none.
struct VerdictCount {
  std::map<Verdict, int> verdicts;
  int items = 0, items_not_addressed = 0;
  int rows = 0, missing = 0, not_addressed = 0, stale = 0;
};
VerdictCount count_verdicts(const std::vector<EvaluatedItem>& items);

}  // namespace sluice
