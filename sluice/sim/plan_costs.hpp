// What a plan's step costs: the graph in whose ops the plan counts, and durations of these ops.
#pragma once

#include "sluice/plan/plan_graph.hpp"
#include "sluice/profile/cost_model.hpp"
#include "sluice/profile/rescheduled_times.hpp"

namespace sluice {

class PlanCosts {
 public:
  // `graph`, its `profile` and `machine` must outlive this object.
  PlanCosts(const Graph& graph, const Profile& profile, const Machine& machine, const Plan& plan)
      : step_(graph, plan),
        costs_(step_.graph(),
               step_.rescheduled() == nullptr ? profile : rescheduled_times(profile, *step_.rescheduled()), machine) {}
  PlanCosts(const PlanCosts&) = delete;
  PlanCosts& operator=(const PlanCosts&) = delete;

  const Graph& graph() const { return step_.graph(); }
  const CostModel& costs() const { return costs_; }
  const Rescheduled* rescheduled() const { return step_.rescheduled(); }  // nullptr: the graph's own step

 private:
  PlanGraph step_;
  CostModel costs_;
};

}  // namespace sluice
