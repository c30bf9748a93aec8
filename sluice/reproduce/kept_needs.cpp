#include "sluice/reproduce/kept_needs.hpp"

#include "sluice/reproduce/program_run.hpp"

namespace sluice {

std::string KeptNeeds::lacks(const KeptResult& result) {
  for (const KeptNeed& need : result.needs) {
    const auto [found, is_new] = checked_.emplace(need.what, false);
    if (is_new) found->second = has(need);
    if (!found->second) return need.what;
  }
  return "";
}

bool KeptNeeds::has(const KeptNeed& need) const {
  Places places;
  places.root = root_;
  places.spill = spill_;
  ProgramRun check{.words = {}, .folder = root_, .output = {}, .errors = {}, .environment = {}};
  for (const std::string& word : need.check) check.words.push_back(fill_places(word, places));
  const Result<int> status = run_program(check);
  return status.ok() && *status == 0;
}

}  // namespace sluice
