#include "sluice/reproduce/making.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "sluice/base/clock.hpp"

namespace sluice {
namespace {

using Kind = KeptState::Kind;
constexpr double kSecondsOfMinute = 60;

bool is_asked(const Selection& selection, const std::string& name) {
  return std::ranges::find(selection.asked, name) != selection.asked.end();
}

std::string why_skipped(const KeptResult& result, const Selection& selection,
                        const std::function<std::string(const KeptResult&)>& lacks) {
  if (!result.only_if_asked.empty() && !is_asked(selection, result.name)) {
    return "only if asked for by its name: " + result.only_if_asked;
  }
  const std::string missing = lacks(result);
  return missing.empty() ? "" : "this machine lacks " + missing;
}

std::string short_time(double seconds) {
  return seconds < kSecondsOfMinute ? fmt::format("{:.1f} s", seconds)
                                    : fmt::format("{:.0f} minutes", seconds / kSecondsOfMinute);
}

}  // namespace

std::vector<KeptTask> tasks_of(const Selection& selection, const Catalog& catalog, KeptStates& states, bool again,
                               const std::function<std::string(const KeptResult&)>& lacks) {
  std::vector<KeptTask> tasks;
  for (const std::string& name : selection.kept) {
    const KeptResult* result = catalog.find_kept(name);
    const KeptState state = states.of(name);
    if (result == nullptr) continue;  // kept by hand, or nothing at all: rows that read it say so
    if (!again && (state.kind == Kind::kKept || state.kind == Kind::kUnknown)) continue;
    tasks.push_back({result, state, why_skipped(*result, selection, lacks)});
  }
  return tasks;
}

double minutes_of(const std::vector<KeptTask>& tasks) {
  double minutes = 0;
  for (const KeptTask& task : tasks) minutes += task.skipped.empty() ? task.result->minutes : 0;
  return minutes;
}

MakingOutcome make_all(const std::vector<KeptTask>& tasks, KeptMaker& maker, const MakingWatch& watch) {
  MakingOutcome outcome;
  MakingProgress progress;
  progress.all_seconds = minutes_of(tasks) * kSecondsOfMinute;
  progress.count =
      static_cast<std::size_t>(std::ranges::count_if(tasks, [](const KeptTask& task) { return task.skipped.empty(); }));
  double finished = 0;
  for (const KeptTask& task : tasks) {
    const std::string& name = task.result->name;
    if (!task.skipped.empty()) {
      outcome.skipped.push_back({name, task.skipped});
      watch.tell(fmt::format("skipped {}: {}", name, task.skipped));
      continue;
    }
    const auto begin = Clock::now();
    const double expected = task.result->minutes * kSecondsOfMinute;
    ++progress.number;
    progress.name = name;
    const Status made = maker.make(*task.result, [&] {
      progress.done_seconds = finished + std::min(expected, seconds_since(begin));
      watch.progress(progress);
      return watch.goes_on();
    });
    finished += expected;
    if (!watch.goes_on() || (!made.ok() && made.error().code == ErrorCode::kInterrupted)) {
      if (made.ok()) outcome.made.push_back(name);
      outcome.interrupted = true;
      return outcome;
    }
    if (made.ok()) {
      outcome.made.push_back(name);
      watch.tell(fmt::format("made {} in {}", name, short_time(seconds_since(begin))));
    } else {
      outcome.failed.push_back({name, made.error().message});
      watch.tell(fmt::format("failed {}: {}", name, made.error().message));
    }
  }
  return outcome;
}

}  // namespace sluice
