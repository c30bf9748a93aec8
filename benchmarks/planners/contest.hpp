// A kept problem on a kept machine: rows of the planner benchmark, one planner or policy after the other.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "benchmarks/planners/planner_rows.hpp"
#include "sluice/planners/planner.hpp"

namespace sluice::benchmarks {

class Contest {
 public:
  // `problem` must outlive this object. `whole`: what its step takes in fast memory.
  Contest(const KeptProblem& problem, KeptMachine machine, Bytes whole);

  // A plan in that share of `whole`, or in the least that the planner can use where that is more; or the steps of a
  // policy in it, once it has found its balance.
  PlannerRow row(const std::string& planner, int percent);

 private:
  struct KnownBound {
    Bytes budget = 0;
    std::vector<graph::OpIndex> schedule;
    Seconds seconds = 0;
  };

  planners::PlanRequest request(Bytes fast) const;
  Result<plan::Plan> at_smallest(const std::string& planner, PlannerRow& row) const;
  Status fill_by_plan(const std::string& planner, PlannerRow& row);
  Status fill_by_policy(const std::string& policy, PlannerRow& row) const;
  void fill(PlannerRow& row, plan::Plan& plan);
  Seconds bound_of(plan::Plan& plan);                    // of the same order of ops in the same budget it is the same
  Seconds lowest_in(const std::vector<Bytes>& budgets);  // of any plan

  const KeptProblem& problem_;
  KeptMachine machine_;
  Bytes whole_;
  profile::Profile profile_;
  Seconds baseline_ = 0;  // fast-only's step
  std::vector<KnownBound> bounds_;
  std::map<Bytes, Seconds> lowest_;  // by fast budget
};

}  // namespace sluice::benchmarks
