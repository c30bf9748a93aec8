#include "sluice/graph/rewrite/scale_loss.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/check.hpp"
#include "sluice/graph/ops/op_traits.hpp"

namespace sluice::graph {
namespace {

constexpr std::string_view kScale = "loss_scale", kCounts = "loss_scale.counts", kScaleDelayed = "loss_scale.delayed";

struct ScaleState {
  TensorId scale = -1, counts = -1;
  TensorId of_updates = -1;  // the scale of the gradients that update: another one with delays
};

ScaleState add_state(Graph& graph, float initial, bool delayed) {
  const auto add = [&](std::string_view name, std::int64_t elements, const Init& init) {
    Tensor tensor;
    tensor.name = name;
    tensor.shape = {elements};
    tensor.role = Role::kOptimizerState;
    tensor.init = init;
    return graph.add_tensor(std::move(tensor));
  };
  const Init first{.kind = Init::Kind::kConstant, .stddev = initial};
  ScaleState state;
  state.scale = add(kScale, 1, first);
  state.counts = add(kCounts, 2, {});
  state.of_updates = delayed ? add(kScaleDelayed, 1, first) : state.scale;
  if (delayed) graph.tensor(state.of_updates).slot = kInFlight;
  return state;
}

bool starts_gradients(OpKind kind) {
  return kind == OpKind::kSoftmaxCrossEntropyBackward || kind == OpKind::kSigmoidCrossEntropyBackward ||
         kind == OpKind::kMeanLossBackward;
}

Op next_scale(const Op& factor, const ScaleState& state) {
  Op op{.name = fmt::format("{}.update", kScale),
        .kind = OpKind::kLossScale,
        .inputs = {factor.outputs[0], state.scale, state.counts},
        .outputs = {state.scale, state.counts},
        .layer = factor.layer,
        .phase = factor.phase};
  op.attributes = LossScaleAttributes{.growth = 2, .backoff = 0.5F, .steps = kStepsOfLossScale};
  if (state.of_updates != state.scale) {
    op.inputs.push_back(state.of_updates);
    op.outputs.push_back(state.of_updates);
  }
  return op;
}

}  // namespace

std::optional<LossScaleTensors> loss_scale_tensors(const Graph& graph) {
  const auto next = std::ranges::find(graph.ops(), OpKind::kLossScale, &Op::kind);
  if (next == graph.ops().end()) return std::nullopt;
  return LossScaleTensors{next->outputs[0], next->outputs[1],
                          next->inputs.size() > 3 ? next->inputs[3] : next->outputs[0]};
}

Graph scale_loss(const Graph& clipped, float initial) {
  const auto factor = std::ranges::find(clipped.ops(), OpKind::kClipFactor, &Op::kind);
  SLUICE_CHECK(factor != clipped.ops().end() && std::ranges::count(clipped.ops(), OpKind::kClipFactor, &Op::kind) == 1,
               clipped.name + " updates once a step, by a factor");
  const bool delayed = std::ranges::any_of(
      clipped.ops(), [](const Op& op) { return is_update(op.kind) && op.as<UpdateAttributes>().delayed; });
  Graph result;
  result.name = clipped.name;
  result.layers = clipped.layers;
  for (const Tensor& tensor : clipped.tensors()) result.add_tensor(tensor);
  const ScaleState state = add_state(result, initial, delayed);
  Tensor& number = result.tensor(factor->outputs[0]);
  number.shape = {2};
  number.bytes = 2 * size_of(number.dtype);
  for (Op op : clipped.ops()) {
    if (starts_gradients(op.kind)) op.inputs.push_back(state.scale);
    if (op.kind == OpKind::kClipFactor) op.inputs.insert(op.inputs.end(), {state.of_updates, state.counts});
    if (op.kind == OpKind::kClipFactor) op.as<ClipAttributes>().scaled = true;
    if (is_update(op.kind)) op.as<UpdateAttributes>().scaled = true;
    result.add_op(std::move(op));
  }
  result.add_op(next_scale(*factor, state));
  return result;
}

}  // namespace sluice::graph
