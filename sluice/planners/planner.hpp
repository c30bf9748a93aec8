// Offline planners: functions of graph, profile, machine and budgets to a Plan. A new planner is one file and one line
// in registry.cpp. Planners know nothing of how plans are run.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/plan/plan.hpp"
#include "sluice/profile/profile.hpp"

namespace sluice {

struct PlanRequest {
  const Graph& graph;
  const Profile& profile;
  const Machine& machine;
  std::vector<Bytes> budgets;  // by TierId
};

struct PlannerEntry {
  std::string_view name;
  std::string_view summary;  // one line for --help and docs
  std::function<Result<Plan>(const PlanRequest&)> plan;
};

const std::vector<PlannerEntry>& planners();

// Finds the planner, runs it, verifies its plan, fills fingerprints, arena bytes and the predicted step time.
// Unknown name: kBadInput listing the known ones. A plan that fails verification is our bug: std::logic_error.
Result<Plan> make_plan(std::string_view planner, const PlanRequest& request);

// The smallest budget of the fast tier, to about one per cent, for which the planner finds a plan; the other budgets
// are the request's. Plans about seven times. An unknown name or a planner that cannot plan for this machine at all
// gives make_plan()'s error.
Result<Bytes> smallest_feasible_bytes(std::string_view planner, const PlanRequest& request);

// Arena bytes of the fast-only plan: what "100 %" of a budget means.
Bytes fast_only_bytes(const Graph& graph);

}  // namespace sluice
