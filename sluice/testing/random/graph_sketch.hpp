// Adds tensors of random sizes, and ops on them, to a graph. random_graph() builds its graphs with it.
#pragma once

#include <string>
#include <vector>

#include "sluice/graph/graph.hpp"
#include "sluice/testing/random/seeded_random.hpp"

namespace sluice::testing {

class GraphSketch {
 public:
  GraphSketch(std::string name, Bytes most_bytes, SeededRandom& random) : random_(random), most_bytes_(most_bytes) {
    graph_.name = std::move(name);
  }

  graph::LayerIndex begin_layer(const std::string& name) {
    graph_.layers.push_back(name);
    return layer_ = static_cast<graph::LayerIndex>(graph_.layers.size()) - 1;
  }
  void return_to_layer(graph::LayerIndex layer) { layer_ = layer; }
  void set_phase(graph::Phase phase) { phase_ = phase; }

  graph::TensorId add(const std::string& name, graph::Role role) {
    graph::Tensor tensor;
    tensor.name = name;
    tensor.role = role;
    tensor.bytes = 4 * random_.between<Bytes>(1, most_bytes_ / 4);
    tensor.shape = {tensor.bytes / 4};
    if (role == graph::Role::kActivation) set_dtype(tensor);
    return graph_.add_tensor(std::move(tensor));
  }
  graph::TensorId add_like(const std::string& name, graph::Role role, graph::TensorId like) {
    graph::Tensor tensor = graph_.tensor(like);
    tensor.name = name;
    tensor.role = role;
    return graph_.add_tensor(std::move(tensor));
  }
  // The gradient of an activation, of the same size.
  graph::TensorId gradient_of(graph::TensorId activation) {
    return add_like("d_" + graph_.tensor(activation).name, graph::Role::kActivationGradient, activation);
  }

  // Convolutions get a workspace and two implementations.
  void emit(graph::OpKind kind, std::vector<graph::TensorId> inputs, std::vector<graph::TensorId> outputs,
            const graph::Slice& slice = {}, const graph::Attributes& attributes = {}) {
    graph::Op op;
    op.name = std::string(to_string(kind)) + std::to_string(graph_.op_count());
    op.kind = kind;
    op.attributes = attributes;
    op.slice = slice;
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    op.layer = layer_;
    op.phase = phase_;
    if (kind == graph::OpKind::kConv2d || kind == graph::OpKind::kConv2dBackwardWeights) {
      const graph::TensorId workspace = add(op.name + ".workspace", graph::Role::kWorkspace);
      op.outputs.push_back(workspace);
      op.implementations = {{"direct", graph_.tensor(workspace).bytes}, {"other", 0}};
    }
    graph_.add_op(std::move(op));
  }

  const std::string& name_of(graph::TensorId tensor) const { return graph_.tensor(tensor).name; }
  graph::Graph finish() { return std::move(graph_); }

 private:
  // Some are of integers: of a size that says so, for no seed's graphs to have others than without.
  static void set_dtype(graph::Tensor& tensor) {
    const Bytes kind = tensor.bytes / 4 % 5;
    if (kind == 0) tensor.dtype = graph::DType::kI32;
    if (kind != 1) return;
    tensor.dtype = graph::DType::kU8;
    tensor.shape = {tensor.bytes};
  }

  SeededRandom& random_;
  Bytes most_bytes_;
  graph::Graph graph_;
  graph::LayerIndex layer_ = 0;
  graph::Phase phase_ = graph::Phase::kForward;
};

}  // namespace sluice::testing
