#include "sluice/testing/random/random_graph.hpp"

#include <fmt/format.h>

#include <map>

#include "sluice/base/as_index.hpp"
#include "sluice/testing/random/weight_updates.hpp"

namespace sluice::testing {
namespace {

struct Cell {
  graph::TensorId gates_x, h, c, gates;
};

// One forward layer and what its backward needs.
struct Layer {
  graph::OpKind kind = graph::OpKind::kConv2d;
  graph::LayerIndex index = 0;
  std::string name;
  graph::TensorId input = 0;
  graph::TensorId skip = -1;                // kAdd, kConcat: the second operand
  graph::TensorId output = 0;               // kRelu: the input itself
  std::vector<graph::TensorId> parameters;  // one a dense slice, else one or none
  graph::TensorId saved = -1;               // kBatchNorm: stats
  std::vector<Cell> cells;                  // kLstmCell
};

class GraphMaker {
 public:
  GraphMaker(std::uint64_t seed, const RandomGraphOptions& options)
      : random_(seed),
        options_(options),
        sketch_(fmt::format("random{}", seed), options.most_bytes, random_),
        updates_(random_, sketch_) {}

  graph::Graph run() {
    const graph::TensorId images = sketch_.add("images", graph::Role::kInput),
                          labels = sketch_.add("labels", graph::Role::kInput);
    sketch_.begin_layer("input");
    sketch_.emit(graph::OpKind::kInput, {}, {images, labels});
    activations_ = {images};
    graph::TensorId last = stage("", images, labels);
    if (random_.chance(0.25)) stage("second.", last, labels);
    return sketch_.finish();
  }

 private:
  // Layers on `input`, their loss, backward and updates. Returns the last activation.
  graph::TensorId stage(const std::string& prefix, graph::TensorId input, graph::TensorId labels) {
    layers_.clear();
    gradients_.clear();
    sketch_.set_phase(graph::Phase::kForward);
    graph::TensorId last = input;
    const int count = random_.between(1, options_.most_layers);
    for (int i = 0; i < count; ++i) last = forward(fmt::format("{}layer{}", prefix, i), last);
    emit_loss(prefix, last, labels);
    for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) backward(*layer);
    updates_.end_stage();
    return last;
  }

  graph::TensorId forward(const std::string& name, graph::TensorId input) {
    static const std::vector<graph::OpKind> kinds = {
        graph::OpKind::kConv2d, graph::OpKind::kBatchNorm, graph::OpKind::kRelu,
        graph::OpKind::kAdd,    graph::OpKind::kDense,     graph::OpKind::kDense,
        graph::OpKind::kConcat, graph::OpKind::kUnary,     graph::OpKind::kLstmCell};
    Layer layer;
    layer.index = sketch_.begin_layer(name);
    layer.name = name;
    layer.kind = layers_.empty() ? graph::OpKind::kConv2d : random_.pick(kinds);
    layer.input = input;
    layer.output = layer.kind == graph::OpKind::kRelu ? input : sketch_.add(name + ".y", graph::Role::kActivation);
    emit_forward(layer);
    for (const graph::TensorId parameter : layer.parameters) updates_.expect(parameter);
    layers_.push_back(layer);
    if (layer.output != input) activations_.push_back(layer.output);
    return layer.output;
  }

  void emit_forward(Layer& layer) {
    switch (layer.kind) {
      case graph::OpKind::kRelu:
        return sketch_.emit(graph::OpKind::kRelu, {layer.input}, {layer.input});
      case graph::OpKind::kUnary:
        return sketch_.emit(graph::OpKind::kUnary, {layer.input}, {layer.output});
      case graph::OpKind::kAdd:
      case graph::OpKind::kConcat:
        layer.skip = random_.pick(activations_);
        return sketch_.emit(layer.kind, {layer.input, layer.skip}, {layer.output});
      case graph::OpKind::kBatchNorm: {
        layer.parameters = {sketch_.add(layer.name + ".scale_shift", graph::Role::kParameter)};
        layer.saved = sketch_.add(layer.name + ".stats", graph::Role::kActivation);
        const graph::TensorId running = sketch_.add(layer.name + ".running", graph::Role::kBuffer);
        return sketch_.emit(graph::OpKind::kBatchNorm, {layer.input, layer.parameters[0], running},
                            {layer.output, layer.saved, running});
      }
      case graph::OpKind::kDense:
        return emit_dense(layer);
      case graph::OpKind::kLstmCell:
        return emit_lstm(layer);
      default:
        layer.parameters = {sketch_.add(layer.name + ".w", graph::Role::kParameter)};
        return sketch_.emit(graph::OpKind::kConv2d, {layer.input, layer.parameters[0]}, {layer.output});
    }
  }

  // In slices with a weight each, or with the weight of an earlier layer, maybe one of an earlier stage.
  void emit_dense(Layer& layer) {
    if (!shared_weights_.empty() && random_.chance(0.3)) {
      layer.parameters = {random_.pick(shared_weights_)};
      return sketch_.emit(graph::OpKind::kDense, {layer.input, layer.parameters[0]}, {layer.output});
    }
    const int slices = random_.between(1, 3);
    for (int slice = 0; slice < slices; ++slice) {
      layer.parameters.push_back(sketch_.add(fmt::format("{}.w{}", layer.name, slice), graph::Role::kParameter));
      std::vector<graph::TensorId> inputs = {layer.input, layer.parameters.back()};
      if (slice > 0) inputs.push_back(layer.output);
      sketch_.emit(graph::OpKind::kDense, std::move(inputs), {layer.output}, {.partial = slice > 0});
    }
    if (slices == 1) shared_weights_.push_back(layer.parameters[0]);
  }

  void emit_lstm(Layer& layer) {
    const int steps = random_.between(1, 3);
    if (steps > 1) layer.parameters = {sketch_.add(layer.name + ".w", graph::Role::kParameter)};
    std::vector<graph::TensorId> results;
    for (int step = 0; step < steps; ++step) {
      const std::string name = fmt::format("{}.step{}", layer.name, step);
      const Cell cell{
          sketch_.add(name + ".gates_x", graph::Role::kActivation), sketch_.add(name + ".h", graph::Role::kActivation),
          sketch_.add(name + ".c", graph::Role::kActivation), sketch_.add(name + ".gates", graph::Role::kActivation)};
      sketch_.emit(graph::OpKind::kSlice, {layer.input}, {cell.gates_x});
      std::vector<graph::TensorId> inputs = {cell.gates_x};
      if (step > 0) inputs.insert(inputs.end(), {layer.cells.back().h, layer.cells.back().c, layer.parameters[0]});
      sketch_.emit(graph::OpKind::kLstmCell, std::move(inputs), {cell.h, cell.c, cell.gates}, {},
                   graph::RecurrentAttributes{.state = step > 0});
      layer.cells.push_back(cell);
      results.push_back(cell.h);
    }
    sketch_.emit(graph::OpKind::kConcat, std::move(results), {layer.output});
  }

  void emit_loss(const std::string& prefix, graph::TensorId logits, graph::TensorId labels) {
    sketch_.begin_layer(prefix + "loss");
    const graph::TensorId loss = sketch_.add(prefix + "loss", graph::Role::kOutput);
    const graph::TensorId probabilities = sketch_.add(prefix + "probabilities", graph::Role::kActivation);
    sketch_.emit(graph::OpKind::kSoftmaxCrossEntropy, {logits, labels}, {loss, probabilities});
    gradients_[logits] = sketch_.gradient_of(logits);
    sketch_.set_phase(graph::Phase::kBackward);
    sketch_.emit(graph::OpKind::kSoftmaxCrossEntropyBackward, {probabilities, labels}, {gradients_[logits]});
  }

  void backward(const Layer& layer) {
    sketch_.return_to_layer(layer.index);
    const graph::TensorId dy = gradients_.at(layer.output);
    switch (layer.kind) {
      case graph::OpKind::kRelu:
        return sketch_.emit(graph::OpKind::kReluBackward, {layer.input, dy}, {dy});
      case graph::OpKind::kAdd:
        give(layer.skip, slice_of(dy, layer.skip));
        return give(layer.input, dy);
      case graph::OpKind::kConcat:
        give(layer.skip, slice_of(dy, layer.skip));
        return give(layer.input, slice_of(dy, layer.input));
      case graph::OpKind::kLstmCell:
        return lstm_backward(layer, dy);
      case graph::OpKind::kDense:
        return dense_backward(layer, dy);
      default:
        return plain_backward(layer, dy);
    }
  }

  void plain_backward(const Layer& layer, graph::TensorId dy) {
    const graph::TensorId x = kept_or_again(layer.input);
    const graph::TensorId dx = sketch_.gradient_of(layer.input);
    if (layer.kind == graph::OpKind::kUnary) {
      sketch_.emit(graph::OpKind::kUnaryBackward, {x, dy}, {dx});
    } else if (layer.kind == graph::OpKind::kBatchNorm) {
      const graph::TensorId dw = sketch_.add_like("dw", graph::Role::kGradient, layer.parameters[0]);
      sketch_.emit(graph::OpKind::kBatchNormBackward, {x, dy, layer.parameters[0], layer.saved}, {dx, dw});
      updates_.count_gradient(layer.parameters[0], dw);
    } else {
      sketch_.emit(graph::OpKind::kConv2dBackwardData, {dy, layer.parameters[0]}, {dx});
      updates_.add_gradient(graph::OpKind::kConv2dBackwardWeights, x, dy, layer.parameters[0]);
    }
    give(layer.input, dx);
  }

  void dense_backward(const Layer& layer, graph::TensorId dy) {
    const graph::TensorId x = kept_or_again(layer.input);
    const graph::TensorId dx = sketch_.gradient_of(layer.input);
    for (std::size_t i = 0; i < layer.parameters.size(); ++i) {
      std::vector<graph::TensorId> inputs = {dy, layer.parameters[i]};
      if (i > 0) inputs.push_back(dx);
      sketch_.emit(graph::OpKind::kDenseBackwardData, std::move(inputs), {dx}, {.partial = i > 0});
      updates_.add_gradient(graph::OpKind::kDenseBackwardWeights, x, dy, layer.parameters[i]);
    }
    give(layer.input, dx);
  }

  void lstm_backward(const Layer& layer, graph::TensorId dy) {
    std::vector<graph::TensorId> parts;
    graph::TensorId dc = -1;
    for (std::size_t step = layer.cells.size(); step-- > 0;) {
      const Cell& cell = layer.cells[step];
      graph::TensorId dh = slice_of(dy, cell.h);
      const bool carry = step + 1 < layer.cells.size(), state = step > 0;
      if (carry) sketch_.emit(graph::OpKind::kAdd, {dh, gradients_.at(cell.h)}, {dh});
      parts.push_back(sketch_.gradient_of(cell.gates_x));
      std::vector<graph::TensorId> inputs = {dh, cell.gates, cell.c}, outputs = {parts.back()};
      if (state) inputs.insert(inputs.end(), {layer.cells[step - 1].c, layer.parameters[0]});
      if (carry) inputs.push_back(dc);
      if (state) {
        gradients_[layer.cells[step - 1].h] = sketch_.gradient_of(layer.cells[step - 1].h);
        dc = sketch_.gradient_of(cell.c);
        outputs.insert(outputs.end(), {gradients_[layer.cells[step - 1].h], dc});
      }
      sketch_.emit(graph::OpKind::kLstmCellBackward, std::move(inputs), std::move(outputs), {},
                   graph::RecurrentAttributes{.state = state, .carry = carry});
    }
    if (layer.cells.size() > 2) updates_.expect(layer.parameters[0], count_of(layer.cells) - 2);
    for (std::size_t step = 1; step < layer.cells.size(); ++step) {
      updates_.add_gradient(graph::OpKind::kDenseBackwardWeights, layer.cells[step - 1].h,
                            parts[layer.cells.size() - 1 - step], layer.parameters[0]);
    }
    const graph::TensorId dx = sketch_.gradient_of(layer.input);
    sketch_.emit(graph::OpKind::kConcat, std::move(parts), {dx});
    give(layer.input, dx);
  }

  graph::TensorId slice_of(graph::TensorId dy, graph::TensorId part) {
    const graph::TensorId gradient = sketch_.gradient_of(part);
    sketch_.emit(graph::OpKind::kSlice, {dy}, {gradient});
    return gradient;
  }

  // A contribution to an activation's gradient: the first is it, later ones are added in place.
  void give(graph::TensorId activation, graph::TensorId gradient) {
    const auto [found, first] = gradients_.try_emplace(activation, gradient);
    if (!first && found->second != gradient)
      sketch_.emit(graph::OpKind::kAdd, {found->second, gradient}, {found->second});
  }

  // The activation, or the same made again from what the layer that made it has kept.
  graph::TensorId kept_or_again(graph::TensorId activation) {
    for (const Layer& layer : layers_) {
      const bool cheap = layer.kind == graph::OpKind::kBatchNorm || layer.kind == graph::OpKind::kUnary;
      if (layer.output != activation || !cheap || !random_.chance(0.5)) continue;
      const graph::TensorId again =
          sketch_.add_like(sketch_.name_of(activation) + ".again", graph::Role::kActivation, activation);
      if (layer.kind == graph::OpKind::kUnary) {
        sketch_.emit(graph::OpKind::kUnary, {layer.input}, {again});
      } else {
        sketch_.emit(graph::OpKind::kBatchNormApply, {layer.input, layer.parameters[0], layer.saved}, {again});
      }
      return again;
    }
    return activation;
  }

  SeededRandom random_;
  RandomGraphOptions options_;
  GraphSketch sketch_;
  WeightUpdates updates_;
  std::vector<Layer> layers_;  // of the stage
  std::vector<graph::TensorId> activations_;
  std::vector<graph::TensorId> shared_weights_;           // of dense layers in one piece
  std::map<graph::TensorId, graph::TensorId> gradients_;  // of activations, so far
};

}  // namespace

graph::Graph random_graph(std::uint64_t seed, const RandomGraphOptions& options) {
  return GraphMaker(seed, options).run();
}

}  // namespace sluice::testing
