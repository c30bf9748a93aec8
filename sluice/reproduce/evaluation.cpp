#include "sluice/reproduce/evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sluice/base/json_file.hpp"

namespace sluice {
namespace {

using nlohmann::json;

// Whether a document says that anything in it is imitated: a tier, a link or a processor.
bool says_emulated(const json& value) {
  if (value.is_object()) {
    for (const char* key : {"emulated", "throttled"}) {
      const auto found = value.find(key);
      if (found != value.end() && found->is_boolean() && found->get<bool>()) return true;
    }
  }
  return value.is_structured() && std::ranges::any_of(value, says_emulated);
}

std::string how_of(const std::set<std::string>& kept, bool simulated, const Catalog& catalog,
                   KeptDocuments& documents) {
  bool executes = false, simulates = false, emulates = false;
  for (const std::string& name : kept) {
    const KeptResult* result = catalog.find_kept(name);
    const auto document = documents.find(name);
    if (document.ok() && says_emulated(**document)) emulates = true;
    if (result == nullptr) continue;
    const bool by_simulation = result->how == HowMade::kSimulated || (result->how == HowMade::kBoth && simulated);
    (by_simulation ? simulates : executes) = true;
    emulates = emulates || !result->emulated.empty();
  }
  if (simulates) return executes ? "executed and simulated" : "simulated";
  if (!executes) return "";
  return emulates ? "executed, emulated" : "executed";
}

EvaluatedRow evaluate_row(const PaperRow& row, const Catalog& catalog, KeptDocuments& documents, KeptStates& states) {
  EvaluatedRow evaluated;
  evaluated.row = &row;
  if (!row.not_addressed.empty()) return evaluated;
  const std::set<std::string> kept = row.ours.kept();
  for (const std::string& name : kept) {
    const KeptState::Kind kind = states.of(name).kind;
    if (kind == KeptState::Kind::kStale) evaluated.stale = true;
    if (kind == KeptState::Kind::kUnknown) evaluated.age_unknown = true;
  }
  const auto ours = evaluate(row.ours, [&](const std::string& name) { return documents.find(name); });
  if (!ours.ok()) {
    evaluated.missing = ours.error().message;
    return evaluated;
  }
  evaluated.ours = ours->value;
  evaluated.verdict = verdict_of(ours->value, row.published, row.better);
  evaluated.how = how_of(kept, ours->simulated, catalog, documents);
  return evaluated;
}

}  // namespace

std::string EvaluatedRow::verdict_text() const {
  if (verdict)
    return fmt::format("{}{}", to_string(*verdict), stale ? " (stale)" : age_unknown ? " (age unknown)" : "");
  return missing.empty() ? "not addressed" : "missing: " + missing;
}

Result<const json*> KeptDocuments::find(const std::string& name) {
  auto found = read_.find(name);
  if (found == read_.end()) {
    const std::filesystem::path file = folder_ / (name + ".json");
    const bool exists = std::filesystem::exists(file);
    found = read_.emplace(name, exists ? read_json_file(file) : bad_input(name + " is not kept yet")).first;
  }
  if (!found->second.ok()) return found->second.error();
  const json* document = &*found->second;
  return document;
}

EvaluatedItem evaluate_item(const PaperItem& item, const Catalog& catalog, KeptDocuments& documents,
                            KeptStates& states) {
  EvaluatedItem evaluated{&item, {}};
  for (const PaperRow& row : item.rows) evaluated.rows.push_back(evaluate_row(row, catalog, documents, states));
  return evaluated;
}

VerdictCount count_verdicts(const std::vector<EvaluatedItem>& items) {
  VerdictCount count;
  for (const EvaluatedItem& each : items) {
    ++count.items;
    if (!each.item->addressed()) ++count.items_not_addressed;
    for (const EvaluatedRow& row : each.rows) {
      ++count.rows;
      if (row.verdict) ++count.verdicts[*row.verdict];
      if (!row.missing.empty()) ++count.missing;
      if (!row.row->not_addressed.empty()) ++count.not_addressed;
      if (row.verdict && row.stale) ++count.stale;
    }
  }
  return count;
}

}  // namespace sluice
