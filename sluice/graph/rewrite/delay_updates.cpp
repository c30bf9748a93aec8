#include "sluice/graph/rewrite/delay_updates.hpp"

#include <utility>
#include <vector>

#include "sluice/base/check.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/graph/reschedule.hpp"

namespace sluice::graph {
namespace {

// Named after the parameter that the moment belongs to: gradients go by many names, of parts and of sums.
TensorId add_delayed(Graph& graph, const Tensor& gradient, const Tensor& moment) {
  Tensor delayed = gradient;
  name_beside(delayed, moment.parameter + ".gradient.delayed", moment);
  delayed.role = Role::kOptimizerState;
  delayed.parameter = moment.parameter;
  delayed.slot = kInFlight;
  delayed.init = {};
  return graph.add_tensor(std::move(delayed));
}

}  // namespace

Graph delay_updates(const Graph& training) {
  SLUICE_CHECK(updates_may_run_last(training), training.name + " reads parameters again that its step has updated");
  Graph result;
  result.name = training.name;
  result.layers = training.layers;
  for (const Tensor& tensor : training.tensors()) result.add_tensor(tensor);
  const TensorId filled = result.add_tensor(
      {.name = "gradients.filled", .shape = {1}, .role = Role::kOptimizerState, .slot = std::string(kInFlight)});
  std::vector<Op> delays;
  for (Op op : training.ops()) {
    if (is_update(op.kind)) {
      const TensorId gradient = op.inputs[1];
      op.inputs[1] = add_delayed(result, training.tensor(gradient), training.tensor(op.inputs[2]));
      op.inputs.push_back(filled);
      op.as<UpdateAttributes>().delayed = true;
      delays.push_back({.name = op.name + ".delay",
                        .kind = OpKind::kDelayGradient,
                        .inputs = {gradient},
                        .outputs = {op.inputs[1]},
                        .layer = op.layer,
                        .phase = op.phase});
    }
    result.add_op(std::move(op));
  }
  if (!delays.empty()) delays.back().outputs.push_back(filled);
  for (Op& delay : delays) result.add_op(std::move(delay));
  return result;
}

bool is_in_flight(const Tensor& tensor) { return tensor.slot == kInFlight; }

}  // namespace sluice::graph
