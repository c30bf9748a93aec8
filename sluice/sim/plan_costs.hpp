// What a plan's step costs: the graph in whose ops the plan counts, and durations of these ops.
#pragma once

#include "sluice/plan/plan_graph.hpp"
#include "sluice/profile/cost_model.hpp"
#include "sluice/profile/rescheduled_times.hpp"

namespace sluice::sim {

class PlanCosts {
 public:
  // `graph`, its `profile` and `machine` must outlive this object.
  PlanCosts(const graph::Graph& graph, const profile::Profile& profile, const memory::Machine& machine,
            const plan::Plan& plan)
      : step_(graph, plan),
        costs_(step_.graph(),
               step_.rescheduled() == nullptr ? profile : profile::rescheduled_times(profile, *step_.rescheduled()),
               machine) {}
  PlanCosts(const PlanCosts&) = delete;
  PlanCosts& operator=(const PlanCosts&) = delete;

  const graph::Graph& graph() const { return step_.graph(); }
  const profile::CostModel& costs() const { return costs_; }
  const graph::Rescheduled* rescheduled() const { return step_.rescheduled(); }  // nullptr: the graph's own step

 private:
  plan::PlanGraph step_;
  profile::CostModel costs_;
};

}  // namespace sluice::sim
