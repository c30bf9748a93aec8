#include "sluice/testing/random_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/testing/seeded_random.hpp"

namespace sluice::testing {
namespace {

// One forward layer and what its backward needs.
struct Layer {
  OpKind kind = OpKind::kConv2d;
  TensorId input = 0;
  TensorId skip = -1;                // kAdd: the second operand
  TensorId output = 0;               // kRelu: the input itself
  std::vector<TensorId> parameters;  // one a dense slice, else one or none
  TensorId saved = -1;               // kBatchNorm: stats
};

class GraphMaker {
 public:
  GraphMaker(std::uint64_t seed, const RandomGraphOptions& options) : random_(seed), options_(options) {
    graph_.name = fmt::format("random{}", seed);
    update_at_end_ = random_.chance(0.3);
  }

  Graph run() {
    const TensorId images = add("images", Role::kInput), labels = add("labels", Role::kInput);
    begin_layer("input");
    emit(OpKind::kInput, {}, {images, labels});
    TensorId last = images;
    activations_ = {images};
    const int count = random_.between(1, options_.most_layers);
    for (int i = 0; i < count; ++i) last = forward(fmt::format("layer{}", i), last);
    emit_loss(last, labels);
    for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) backward(*layer);
    for (const Update& update : late_updates_) emit_update(update);
    return std::move(graph_);
  }

 private:
  struct Update {
    TensorId parameter, gradient, momentum;
  };

  void begin_layer(const std::string& name) {
    graph_.layers.push_back(name);
    layer_ = static_cast<LayerIndex>(graph_.layers.size()) - 1;
  }

  TensorId add(const std::string& name, Role role) {
    Tensor tensor;
    tensor.name = name;
    tensor.role = role;
    tensor.bytes = 4 * random_.between<Bytes>(1, options_.most_bytes / 4);
    tensor.shape = {tensor.bytes / 4};
    return graph_.add_tensor(std::move(tensor));
  }
  TensorId add_like(const std::string& name, Role role, TensorId like) {
    Tensor tensor = graph_.tensor(like);
    tensor.name = name;
    tensor.role = role;
    return graph_.add_tensor(std::move(tensor));
  }

  void emit(OpKind kind, std::vector<TensorId> inputs, std::vector<TensorId> outputs, Phase phase = Phase::kForward) {
    Op op;
    op.name = fmt::format("{}{}", to_string(kind), graph_.op_count());
    op.kind = kind;
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    op.layer = layer_;
    op.phase = phase;
    if (kind == OpKind::kConv2d || kind == OpKind::kConv2dBackwardWeights) {
      const TensorId workspace = add(op.name + ".workspace", Role::kWorkspace);
      op.outputs.push_back(workspace);
      op.implementations = {{"direct", graph_.tensor(workspace).bytes}, {"other", 0}};
    }
    graph_.add_op(std::move(op));
  }

  TensorId forward(const std::string& name, TensorId input) {
    begin_layer(name);
    static const std::vector<OpKind> kinds = {OpKind::kConv2d, OpKind::kBatchNorm, OpKind::kRelu, OpKind::kAdd,
                                              OpKind::kDense};
    Layer layer;
    layer.kind = layers_.empty() ? OpKind::kConv2d : random_.pick(kinds);
    layer.input = input;
    layer.output = layer.kind == OpKind::kRelu ? input : add(name + ".y", Role::kActivation);
    emit_forward(name, layer);
    layers_.push_back(layer);
    if (layer.output != input) activations_.push_back(layer.output);
    return layer.output;
  }

  void emit_forward(const std::string& name, Layer& layer) {
    if (layer.kind == OpKind::kRelu) {
      emit(OpKind::kRelu, {layer.input}, {layer.input});
    } else if (layer.kind == OpKind::kAdd) {
      layer.skip = random_.pick(activations_);
      emit(OpKind::kAdd, {layer.input, layer.skip}, {layer.output});
    } else if (layer.kind == OpKind::kBatchNorm) {
      layer.parameters = {add(name + ".scale_shift", Role::kParameter)};
      layer.saved = add(name + ".stats", Role::kActivation);
      const TensorId running = add(name + ".running", Role::kBuffer);
      emit(OpKind::kBatchNorm, {layer.input, layer.parameters[0], running}, {layer.output, layer.saved, running});
    } else if (layer.kind == OpKind::kDense) {
      for (int slice = random_.between(1, 3); slice > 0; --slice) emit_dense_slice(name, layer);
    } else {
      layer.parameters = {add(name + ".w", Role::kParameter)};
      emit(OpKind::kConv2d, {layer.input, layer.parameters[0]}, {layer.output});
    }
  }

  void emit_dense_slice(const std::string& name, Layer& layer) {
    const bool first = layer.parameters.empty();
    layer.parameters.push_back(add(fmt::format("{}.w{}", name, layer.parameters.size()), Role::kParameter));
    std::vector<TensorId> inputs = {layer.input, layer.parameters.back()};
    if (!first) inputs.push_back(layer.output);
    emit(OpKind::kDense, std::move(inputs), {layer.output});
    graph_.op(graph_.op_count() - 1).attributes.partial = !first;
  }

  void emit_loss(TensorId logits, TensorId labels) {
    begin_layer("loss");
    const TensorId loss = add("loss", Role::kOutput), probabilities = add("probabilities", Role::kActivation);
    emit(OpKind::kSoftmaxCrossEntropy, {logits, labels}, {loss, probabilities});
    gradient_ = add_like("dlogits", Role::kActivationGradient, logits);
    emit(OpKind::kSoftmaxCrossEntropyBackward, {probabilities, labels}, {gradient_}, Phase::kBackward);
  }

  TensorId new_gradient(TensorId of) { return add_like("d_" + graph_.tensor(of).name, Role::kActivationGradient, of); }

  void backward(const Layer& layer) {
    layer_ = 1 + static_cast<LayerIndex>(&layer - layers_.data());
    const TensorId dy = gradient_;
    if (layer.kind == OpKind::kRelu) return emit(OpKind::kReluBackward, {layer.input, dy}, {dy}, Phase::kBackward);
    if (layer.kind == OpKind::kAdd) return emit(OpKind::kAdd, {dy, layer.skip}, {dy}, Phase::kBackward);
    gradient_ = new_gradient(layer.input);
    if (layer.kind == OpKind::kBatchNorm) {
      const TensorId dw = add_like("dw", Role::kGradient, layer.parameters[0]);
      emit(OpKind::kBatchNormBackward, {layer.input, dy, layer.parameters[0], layer.saved}, {gradient_, dw},
           Phase::kBackward);
      return update(layer.parameters[0], dw);
    }
    const bool dense = layer.kind == OpKind::kDense;
    for (std::size_t i = 0; i < layer.parameters.size(); ++i) {
      std::vector<TensorId> inputs = {dy, layer.parameters[i]};
      if (i > 0) inputs.push_back(gradient_);
      emit(dense ? OpKind::kDenseBackwardData : OpKind::kConv2dBackwardData, std::move(inputs), {gradient_},
           Phase::kBackward);
      graph_.op(graph_.op_count() - 1).attributes.partial = i > 0;
      const TensorId dw = add_like("dw", Role::kGradient, layer.parameters[i]);
      emit(dense ? OpKind::kDenseBackwardWeights : OpKind::kConv2dBackwardWeights, {layer.input, dy}, {dw},
           Phase::kBackward);
      update(layer.parameters[i], dw);
    }
  }

  void update(TensorId parameter, TensorId gradient) {
    const TensorId momentum = add_like("momentum", Role::kOptimizerState, parameter);
    late_updates_.push_back({parameter, gradient, momentum});
    if (update_at_end_) return;
    emit_update(late_updates_.back());
    late_updates_.pop_back();
  }

  void emit_update(const Update& update) {
    emit(OpKind::kSgdUpdate, {update.parameter, update.gradient, update.momentum}, {update.parameter, update.momentum},
         Phase::kUpdate);
  }

  SeededRandom random_;
  RandomGraphOptions options_;
  Graph graph_;
  LayerIndex layer_ = 0;
  bool update_at_end_ = false;
  std::vector<Layer> layers_;
  std::vector<TensorId> activations_;
  TensorId gradient_ = 0;
  std::vector<Update> late_updates_;
};

}  // namespace

Graph random_graph(std::uint64_t seed, const RandomGraphOptions& options) { return GraphMaker(seed, options).run(); }

}  // namespace sluice::testing
