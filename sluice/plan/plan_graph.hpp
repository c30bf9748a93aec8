// The graph in whose ops and tensors a plan speaks: the given one, or the one that the plan's schedule and choices make
// of it.
//
// Cheap without either (nothing is copied). A schedule or a choice that the graph has not is a broken invariant here:
// the verifier reports it (plan/verify/verifier.hpp).
#pragma once

#include <optional>

#include "sluice/graph/choose.hpp"
#include "sluice/plan/plan.hpp"

namespace sluice::plan {

class PlanGraph {
 public:
  // `graph` must outlive this object.
  PlanGraph(const graph::Graph& graph, const Plan& plan) : given_(graph) {
    if (!plan.schedule.empty()) step_ = graph::reschedule(graph, plan.schedule).value();
    if (plan.ops.empty()) return;  // it says nothing of them
    const std::vector<graph::OpChoice> choices = choices_of(plan);
    if (graph::is_own_choice(this->graph(), choices)) return;
    if (step_) {
      graph::choose(*step_, choices);
    } else {
      step_ = graph::chosen_step(graph, choices);
    }
  }

  const graph::Graph& given() const { return given_; }
  const graph::Graph& graph() const { return step_ ? step_->graph : given_; }
  const graph::Rescheduled* rescheduled() const { return step_ ? &*step_ : nullptr; }

 private:
  const graph::Graph& given_;
  std::optional<graph::Rescheduled> step_;
};

}  // namespace sluice::plan
