#include "sluice/graph/autodiff/gradients.hpp"

namespace sluice::graph {

// An element is in the sums that come after it: the running sum of dy the other way.
void differentiate_running_sum(GradientTape& tape, const Op& op, TensorId dy) {
  const TensorId x = op.inputs[0];
  if (!tape.needs(x)) return;
  const auto& [axis, forwards] = op.as<RunningSumAttributes>();
  const RunningSumAttributes attributes{.axis = axis, .forwards = !forwards};
  tape.give(op, x, tape.emit_one(op, OpKind::kRunningSum, attributes, {dy}, tape.shape(x)));
}

}  // namespace sluice::graph
