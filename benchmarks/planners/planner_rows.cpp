#include "benchmarks/planners/planner_rows.hpp"

#include <algorithm>
#include <utility>

#include "benchmarks/planners/contest.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"

namespace sluice::benchmarks {

std::vector<PlannerRow> rows_of(const KeptProblem& problem, const RowsWanted& wanted) {
  std::vector<PlannerRow> rows;
  const Bytes whole = planners::fast_only_bytes(problem.graph);
  std::vector<KeptMachine> machines = kept_machines(whole);
  for (std::size_t i = 0; i < machines.size(); ++i) {
    if (std::ranges::find(wanted.machines, i + 1) == wanted.machines.end()) continue;
    Contest contest(problem, std::move(machines[i]), whole);
    for (const int percent : wanted.percents) {
      for (const std::string& planner : wanted.planners) rows.push_back(contest.row(planner, percent));
    }
  }
  return rows;
}

nlohmann::json rows_json(std::span<const PlannerRow> rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const PlannerRow& row : rows) {
    nlohmann::json object{{"problem", row.problem},
                          {"machine", row.machine},
                          {"percent", row.percent},
                          {"asked_bytes", row.asked},
                          {"planner", row.planner}};
    if (row.failure.empty()) {
      object.update({{"budget_bytes", row.budget},
                     {"slowdown", row.slowdown},
                     {"bound", row.bound},
                     {"order_bound", row.order_bound},
                     {"moved_bytes", row.moved},
                     {"planning_seconds", row.planning}});
      if (row.expected > 0) {
        object.update({{"expected", row.expected}, {"proved", row.proved}, {"solved", row.solved}});
      }
    } else {
      object["failure"] = row.failure;
    }
    list.push_back(std::move(object));
  }
  return list;
}

}  // namespace sluice::benchmarks
