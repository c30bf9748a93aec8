// What a planner is: a function from graph, profile, machine and budgets to a Plan. A new planner takes one file that
// defines its PlannerEntry, and one line in registry/registry.cpp. Planners do not know how plans are run.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/base/settings.hpp"
#include "sluice/plan/plan.hpp"
#include "sluice/planners/additions.hpp"
#include "sluice/planners/planner_traits.hpp"
#include "sluice/profile/access_profile.hpp"
#include "sluice/profile/profile.hpp"

namespace sluice::planners {

struct IntegerProgram;  // ilp/integer_program.hpp
struct SearchRound;     // search_rounds.hpp

// For a caller who waits while a plan is sought. Each may be left empty. Called on the planner's thread.
struct PlanningWatch {
  // How much of the search is done, from 0 to 1, by the time that its parts usually take; and the predicted step of the
  // best plan so far, which is verified, where there is one.
  std::function<void(double done, const std::optional<Seconds>& best)> progress = {};
  // Once it says true, planners that seek long (joint, home, checkmate, ...) end with the best plan so far, soon after they
  // have a first one. Asked between linear programs and plans, which take up to a second or two each.
  std::function<bool()> stop = {};
  // Asked after that: whether it is the time given that is over. Else the caller wants no more.
  std::function<bool()> out_of_time = {};
  // Of planners that solve integer programs: each program, before it is solved.
  std::function<void(const IntegerProgram&)> program = {};
  // How far the solver is: how much of its time is gone, from 0 to 1, the step that its best answer expects (infinite
  // where there is none), and the one that no answer can beat.
  std::function<void(double done, Seconds incumbent, Seconds bound)> solving = {};
  // Of planners that search in rounds (home, swapadvisor): those of the search that made the plan, once it is made.
  std::function<void(const std::vector<SearchRound>& rounds)> rounds = {};
};

struct PlanRequest {
  const graph::Graph& graph;
  const profile::Profile& profile;
  const memory::Machine& machine;
  std::vector<Bytes> budgets;  // by TierId
  // Main-memory accesses of one step; nullptr when nobody counted them. Planners that order tensors by accesses then
  // count the ops that use a tensor instead.
  const profile::AccessProfile* accesses = nullptr;
  // What we added to the planner's published algorithm and is on; make_plan() and make_search() set it from the
  // planner's name.
  AdditionSet additions = {};
  // The struct that PlannerEntry::settings sets, likewise; empty: its defaults.
  std::any config = {};
  // By op: implementations and processors that somebody has chosen for whatever plan is made; empty: the graph's own.
  // make_plan() and make_search() give planners the graph that these choices make, so planners know nothing of them.
  std::vector<graph::OpChoice> choices = {};
  // The order in which somebody wants the ops to run, for whatever plan is made; empty: the graph's own. Taken as
  // `choices` are, which stay by op of the graph.
  std::vector<graph::OpIndex> schedule = {};
  // Only to be compared with others, or to see whether there is one: packed by the portfolio alone (schedule/pack.hpp).
  bool draft = false;
  // Shared, because requests are copied; nullptr: nobody waits. A plan that nobody stopped does not depend on it.
  std::shared_ptr<const PlanningWatch> watch = nullptr;

  bool stopped() const { return watch && watch->stop && watch->stop(); }
  ErrorCode why_stopped() const {
    return watch && watch->out_of_time && watch->out_of_time() ? ErrorCode::kOutOfTime : ErrorCode::kInterrupted;
  }
  void report(double done, const std::optional<Seconds>& best) const {
    if (watch && watch->progress) watch->progress(done, best);
  }
  void report(const std::vector<SearchRound>& rounds) const {
    if (watch && watch->rounds) watch->rounds(rounds);
  }
};

// What the planner, whose struct this is, is asked for.
template <typename Config>
Config config_of(const PlanRequest& request) {
  return request.config.has_value() ? std::any_cast<const Config&>(request.config) : Config{};
}

// Everything in fast memory: what "100 %" of a budget means, and what every slowdown is measured against.
inline constexpr std::string_view kBaselinePlanner = "fast-only";
// What commands use where no planner is named.
inline constexpr std::string_view kDefaultPlanner = "joint";

// A plan that has more copies run at once, moves more, or has other kernels, is taken when it needs at most this of the
// plainer one's simulated time: a disk that reads and writes at once gives less than it promised, and op times have
// noise.
inline constexpr double kWorthMoreTraffic = 0.98;

class PlanSearch;  // plan_search.hpp

struct PlannerEntry {
  std::string_view name;
  std::string_view summary;  // one line for --help and docs
  // Errors: kInfeasible where it is proved that this planner has no plan in these budgets, kNoneFound where it only found
  // none, kOutOfTime and kInterrupted where it was stopped before, kUnsupported and kBadInput where no budget would help.
  std::function<Result<plan::Plan>(const PlanRequest&)> plan;
  PlannerTraits traits = {};
  // For planners that go on planning while training runs; empty for the others. What the request refers to must outlive
  // the search.
  std::function<Result<std::unique_ptr<PlanSearch>>(const PlanRequest&)> search = {};
  // Its plans keep short-lived tensors in the fast tier, so that graph/fast_memory_bound.hpp bounds their budgets.
  bool keeps_short_lived_fast = false;
  std::vector<PlannerAddition> additions = {};  // each can be switched off
  Settings settings = {};
  // It always looks at Profile::choices for other implementations of ops than the first; others do so where an addition
  // that does is on (chosen_planner.hpp).
  bool chooses_implementations = false;
  bool gives_ops_to_processors = false;  // whose operands need not fit into the fast tier
};

// What a step with this plan takes, by the simulator. The plan may have a schedule and choices of its own.
Seconds simulated_seconds(const PlanRequest& request, const plan::Plan& plan);

}  // namespace sluice::planners
