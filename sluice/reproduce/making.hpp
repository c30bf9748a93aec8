// Which kept results have to be made, and making them one after the other: what is finished stays, so the same command
// goes on where it was interrupted; what fails is noted and passed over.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/reproduce/files/catalog.hpp"
#include "sluice/reproduce/kept_state.hpp"
#include "sluice/reproduce/make_kept.hpp"
#include "sluice/reproduce/selection.hpp"

namespace sluice {

struct KeptTask {
  const KeptResult* result = nullptr;
  KeptState state;
  std::string skipped;  // why it is not made, although it should be
};

// What is missing or stale of a selection; `again`: everything. `lacks` says what the machine has not (kept_needs.hpp).
std::vector<KeptTask> tasks_of(const Selection& selection, const Catalog& catalog, KeptStates& states, bool again,
                               const std::function<std::string(const KeptResult&)>& lacks);

double minutes_of(const std::vector<KeptTask>& tasks);  // of those that are made

struct MakingOutcome {
  struct Line {
    std::string name, why;
  };
  std::vector<std::string> made;
  std::vector<Line> failed, skipped;
  bool interrupted = false;
};

// How far making is: expected seconds, of which the running one has had at most its own. The time left is at the pace
// of these against the clock.
struct MakingProgress {
  double done_seconds = 0, all_seconds = 0;
  std::size_t number = 0, count = 0;  // of the running one, from 1
  std::string_view name;
};

struct MakingWatch {
  std::function<bool()> goes_on;
  std::function<void(const MakingProgress&)> progress;  // four times a second or more
  std::function<void(const std::string& line)> tell;    // a line for each result that is made, skipped or has failed
};

MakingOutcome make_all(const std::vector<KeptTask>& tasks, KeptMaker& maker, const MakingWatch& watch);

}  // namespace sluice
