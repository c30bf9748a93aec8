// The graph in whose ops and tensors a plan speaks: the given one, or the one that the plan's schedule and choices make
// of it.
//
// Cheap without either (nothing is copied). A schedule or a choice that the graph has not is a broken invariant here:
// the verifier reports it (plan/verify/verifier.hpp).
#pragma once

#include <optional>

#include "sluice/graph/choose.hpp"
#include "sluice/plan/plan.hpp"

namespace sluice {

class PlanGraph {
 public:
  // `graph` must outlive this object.
  PlanGraph(const Graph& graph, const Plan& plan) : given_(graph) {
    if (!plan.schedule.empty()) step_ = reschedule(graph, plan.schedule).value();
    if (plan.ops.empty()) return;  // it says nothing of them
    const std::vector<OpChoice> choices = choices_of(plan);
    if (is_own_choice(this->graph(), choices)) return;
    if (step_) {
      choose(*step_, choices);
    } else {
      step_ = chosen_step(graph, choices);
    }
  }

  const Graph& graph() const { return step_ ? step_->graph : given_; }
  const Rescheduled* rescheduled() const { return step_ ? &*step_ : nullptr; }

 private:
  const Graph& given_;
  std::optional<Rescheduled> step_;
};

}  // namespace sluice
