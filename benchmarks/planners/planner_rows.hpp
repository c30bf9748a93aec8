// Plans of kept problems, simulated: the rows of the planner benchmark.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "benchmarks/planners/kept_machines.hpp"
#include "benchmarks/planners/kept_problem.hpp"

namespace sluice::benchmarks {

struct RowsWanted {
  std::vector<std::string> planners = {"first-touch", "on-demand",        "redl", "chen-sqrt",
                                       "sentinel",    "deferred-updates", "joint"};
  std::vector<std::size_t> machines = {1, 2, 3, 4, 5};  // of kept_machines(), from 1
  std::vector<int> percents = {15, 20, 40};             // of what everything takes
};

struct PlannerRow {
  std::string problem, machine, planner;  // "resnet50 b16"; planners may be policies too
  int percent = 0;
  Bytes asked = 0;         // that share
  Bytes budget = 0;        // more, where that does not do for any plan of the planner
  double slowdown = 0;     // simulated step over fast-only's; 0: no plan
  double bound = 0;        // the same of the certified bound of any order; 0: there is none
  double order_bound = 0;  // likewise of the plan's order of ops
  Bytes moved = 0;         // a step, both ways
  Seconds planning = 0;    // a policy plans nothing
  double expected = 0;     // over fast-only's step, what the planner's integer program comes to; 0: it solves none
  double proved = 0;       // no answer of that program comes to less
  int solved = 0;          // how often it was solved until the plan packed
  std::string failure;     // why there is no plan
};

std::vector<PlannerRow> rows_of(const KeptProblem& problem, const RowsWanted& wanted);

// [{"problem", "machine", "percent", "asked_bytes", "planner", "budget_bytes", "slowdown", "bound", "moved_bytes",
// "planning_seconds"}], where there is no plan "failure" instead of the figures.
nlohmann::json rows_json(std::span<const PlannerRow> rows);

}  // namespace sluice::benchmarks
