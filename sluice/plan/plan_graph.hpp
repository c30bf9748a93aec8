// The graph in whose ops and tensors a plan speaks: the given one, or the one that the plan's schedule makes of it.
//
// Cheap without a schedule (nothing is copied). A schedule that names no op of the graph is a broken invariant here: the
// verifier reports it (plan/verify/verifier.hpp).
#pragma once

#include <optional>

#include "sluice/graph/reschedule.hpp"
#include "sluice/plan/plan.hpp"

namespace sluice {

class PlanGraph {
 public:
  // `graph` must outlive this object.
  PlanGraph(const Graph& graph, const Plan& plan) : given_(graph) {
    if (!plan.schedule.empty()) step_ = reschedule(graph, plan.schedule).value();
  }

  const Graph& graph() const { return step_ ? step_->graph : given_; }
  const Rescheduled* rescheduled() const { return step_ ? &*step_ : nullptr; }

 private:
  const Graph& given_;
  std::optional<Rescheduled> step_;
};

}  // namespace sluice
