// A tensor that stays in one tier for its whole live range and is used there.
#pragma once

#include "sluice/graph/liveness.hpp"
#include "sluice/plan/plan_builder.hpp"

namespace sluice {

inline void use_in_tier(PlanBuilder& builder, const Liveness& liveness, TensorId tensor, TierId tier) {
  const Interval<OpIndex> range = liveness.ranges[tensor];
  if (range.empty()) return;
  builder.add_residency(tensor, tier, range);
  for (const Use& use : liveness.uses[tensor]) {
    builder.set_tensor_tier(use.op, tensor, tier);
  }
}

}  // namespace sluice
