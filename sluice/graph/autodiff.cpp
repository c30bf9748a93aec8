#include "sluice/graph/autodiff.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "sluice/graph/in_place.hpp"

namespace sluice {
namespace {

class Differentiator {
 public:
  Differentiator(const Graph& forward, const OptimizerOptions& options)
      : graph_(forward), options_(options), forward_ops_(forward.op_count()) {
    const std::size_t tensors = forward.tensors().size();
    gradient_.resize(tensors);
    contributions_.resize(tensors);
    pending_uses_.resize(tensors);
    mark_differentiable();
  }

  Graph run() && {
    for (OpIndex index = forward_ops_ - 1; index >= 0; --index) {
      const Op op = graph_.op(index);  // a copy: adding ops moves the originals
      differentiate(op);
      update_parameters(op);
    }
    return std::move(graph_);
  }

 private:
  // A tensor needs a gradient if it is a parameter or is computed from one that does.
  void mark_differentiable() {
    for (const Tensor& tensor : graph_.tensors()) differentiable_.push_back(tensor.role == Role::kParameter);
    bool has_loss = false;
    for (const Op& op : graph_.ops()) {
      SLUICE_CHECK(op.phase == Phase::kForward, "op " + op.name + " is not a forward op");
      has_loss = has_loss || op.kind == OpKind::kSoftmaxCrossEntropy;
      bool any = false;
      for (const TensorId id : op.inputs) {
        any = any || needs_gradient(id);
        ++pending_uses_[slot(id)];
      }
      for (const TensorId id : op.outputs) {
        if (!is_persistent(graph_.tensor(id).role)) differentiable_[slot(id)] = any;
      }
    }
    SLUICE_CHECK(has_loss, "graph " + graph_.name + " has no loss to differentiate");
  }

  static std::size_t slot(TensorId id) { return static_cast<std::size_t>(id); }
  bool needs_gradient(TensorId id) const { return differentiable_[slot(id)]; }

  TensorId make_gradient(TensorId of, const std::string& suffix = "") {
    const Tensor& source = graph_.tensor(of);
    Tensor gradient;
    gradient.name = source.name + ".grad" + suffix;
    gradient.shape = source.shape;
    gradient.role = source.role == Role::kParameter ? Role::kGradient : Role::kActivationGradient;
    return graph_.add_tensor(std::move(gradient));
  }

  // The gradient tensor of one more consumer of `of`.
  TensorId make_contribution(TensorId of) {
    const int earlier = contributions_[slot(of)];
    return make_gradient(of, earlier == 0 ? "" : "_" + std::to_string(earlier + 1));
  }

  Op& emit(const Op& forward, OpKind kind, std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
    Op op;
    op.name = forward.name + "." + std::string(to_string(kind));
    op.kind = kind;
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    op.layer = forward.layer;
    op.phase = kind == OpKind::kSgdUpdate ? Phase::kUpdate : Phase::kBackward;
    return graph_.op(graph_.add_op(std::move(op)));
  }

  // Emits a backward op, which works by the attributes of its forward op.
  void emit_backward(const Op& forward, OpKind kind, std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
    emit(forward, kind, std::move(inputs), std::move(outputs)).attributes = forward.attributes;
  }

  void contribute(const Op& consumer, TensorId to, TensorId gradient) {
    if (!needs_gradient(to)) return;
    std::optional<TensorId>& total = gradient_[slot(to)];
    const int earlier = contributions_[slot(to)]++;
    if (!total) {
      total = gradient;
      return;
    }
    const TensorId sum = make_gradient(to, ".sum" + (earlier == 1 ? std::string() : "_" + std::to_string(earlier)));
    emit(consumer, OpKind::kAdd, {*total, gradient}, {sum});
    total = sum;
  }

  void differentiate(const Op& op) {
    if (op.kind == OpKind::kSoftmaxCrossEntropy) return differentiate_loss(op);
    if (op.kind == OpKind::kInput || !gradient_[slot(op.outputs[0])]) return;
    const TensorId dy = *gradient_[slot(op.outputs[0])];
    switch (op.kind) {
      case OpKind::kConv2d:
        return differentiate_linear(op, dy, OpKind::kConv2dBackwardData, OpKind::kConv2dBackwardWeights);
      case OpKind::kDense:
        return differentiate_linear(op, dy, OpKind::kDenseBackwardData, OpKind::kDenseBackwardWeights);
      case OpKind::kBatchNorm:
        return differentiate_batch_norm(op, dy);
      case OpKind::kRelu:
        return differentiate_input(op, OpKind::kReluBackward, {op.outputs[0], dy});
      case OpKind::kMaxPool:
        return differentiate_input(op, OpKind::kMaxPoolBackward, {dy, op.outputs[1]});
      case OpKind::kAvgPool:
        return differentiate_input(op, OpKind::kAvgPoolBackward, {dy});
      case OpKind::kAdd:
        return differentiate_add(op, dy);
      default:
        SLUICE_CHECK(false, "op " + op.name + " has no gradient");
    }
  }

  void differentiate_loss(const Op& op) {
    const TensorId gradient = make_contribution(op.inputs[0]);
    emit_backward(op, OpKind::kSoftmaxCrossEntropyBackward, {op.outputs[1], op.inputs[1]}, {gradient});
    contribute(op, op.inputs[0], gradient);
  }

  // Ops of one differentiable input, inputs[0].
  void differentiate_input(const Op& op, OpKind kind, std::vector<TensorId> inputs) {
    if (!needs_gradient(op.inputs[0])) return;
    const TensorId gradient = make_contribution(op.inputs[0]);
    emit_backward(op, kind, std::move(inputs), {gradient});
    contribute(op, op.inputs[0], gradient);
  }

  void differentiate_linear(const Op& op, TensorId dy, OpKind data, OpKind weights) {
    differentiate_input(op, data, {dy, op.inputs[1]});
    std::vector<TensorId> gradients;
    for (std::size_t i = 1; i < op.inputs.size(); ++i) gradients.push_back(make_contribution(op.inputs[i]));
    emit_backward(op, weights, {op.inputs[0], dy}, gradients);
    for (std::size_t i = 1; i < op.inputs.size(); ++i) contribute(op, op.inputs[i], gradients[i - 1]);
  }

  void differentiate_batch_norm(const Op& op, TensorId dy) {
    const TensorId x = op.inputs[0];
    const TensorId scale_shift = op.inputs[1];
    std::vector<TensorId> inputs = {x, dy, scale_shift, op.outputs[1]};
    const TensorId dx = make_contribution(x);
    const TensorId dscale_shift = make_contribution(scale_shift);
    emit_backward(op, OpKind::kBatchNormBackward, std::move(inputs), {dx, dscale_shift});
    contribute(op, x, dx);
    contribute(op, scale_shift, dscale_shift);
  }

  // Both branches read the same gradient tensor.
  void differentiate_add(const Op& op, TensorId dy) {
    TensorId gradient = dy;
    if (op.attributes.activation == Activation::kRelu) {
      gradient = make_gradient(op.outputs[0], ".masked");
      emit(op, OpKind::kReluBackward, {op.outputs[0], dy}, {gradient});
    }
    contribute(op, op.inputs[0], gradient);
    contribute(op, op.inputs[1], gradient);
  }

  void update_parameters(const Op& op) {
    for (const TensorId id : op.inputs) {
      if (--pending_uses_[slot(id)] > 0 || graph_.tensor(id).role != Role::kParameter) continue;
      if (const auto gradient = gradient_[slot(id)]) update(op, id, *gradient);
    }
  }

  void update(const Op& op, TensorId parameter, TensorId gradient) {
    Tensor momentum;
    momentum.name = graph_.tensor(parameter).name + ".momentum";
    momentum.shape = graph_.tensor(parameter).shape;
    momentum.role = Role::kOptimizerState;
    const TensorId velocity = graph_.add_tensor(std::move(momentum));
    Op& added = emit(op, OpKind::kSgdUpdate, {parameter, gradient, velocity}, {parameter, velocity});
    added.name = graph_.tensor(parameter).name + ".update";
    added.attributes.momentum = options_.momentum;
    added.attributes.weight_decay = options_.weight_decay;
  }

  Graph graph_;
  const OptimizerOptions options_;
  const OpIndex forward_ops_;
  // By TensorId of the forward graph:
  std::vector<bool> differentiable_;
  std::vector<std::optional<TensorId>> gradient_;  // the sum of the contributions so far
  std::vector<int> contributions_;
  std::vector<int> pending_uses_;  // forward ops that read the tensor and are not differentiated yet
};

}  // namespace

Graph build_training_graph(const Graph& forward, const OptimizerOptions& options) {
  Graph graph = Differentiator(forward, options).run();
  set_in_place_candidates(graph);
  return graph;
}

}  // namespace sluice
