// A tensor that stays in one tier for its whole live range and is used there.
#pragma once

#include "sluice/graph/liveness.hpp"
#include "sluice/plan/plan_builder.hpp"

namespace sluice::planners {

inline void use_in_tier(plan::PlanBuilder& builder, const graph::Liveness& liveness, graph::TensorId tensor,
                        memory::TierId tier) {
  const Interval<graph::OpIndex> range = liveness.ranges[tensor];
  if (range.empty()) return;
  builder.add_residency(tensor, tier, range);
  for (const graph::Use& use : liveness.uses[tensor]) {
    builder.set_tensor_tier(use.op, tensor, tier);
  }
}

}  // namespace sluice::planners
