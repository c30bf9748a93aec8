// The graph of one training step: ops in execution order, the tensors they use, and the model layers they belong to.
//
// Two forms share this type. A *logical* graph comes from models/ and autodiff: plain layouts, each tensor written by
// one op. A backend lowers it to an *executable* graph: layouts and byte sizes fixed, reorders and workspaces added,
// in-place pairs merged (in_place.hpp). Planners, the verifier, the simulator and the executor see only the latter.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/interval.hpp"
#include "sluice/graph/ops/op.hpp"
#include "sluice/graph/ops/tensor.hpp"

namespace sluice::graph {

// A part of a forward graph that is differentiated and updated before the next part runs: a GAN trains its
// discriminator, then its generator, in one step.
struct Stage {
  OpIndex end = 0;                // one past its last forward op; it starts where the one before ends
  std::vector<TensorId> trained;  // the parameters it updates, ascending
};

class Graph {
 public:
  std::string name;                 // "resnet50"
  std::vector<std::string> layers;  // layer names by LayerIndex
  std::vector<Stage> stages;        // of a forward graph; none: one stage that trains everything

  TensorId add_tensor(Tensor tensor);  // fills `bytes` from shape and dtype when it is 0
  OpIndex add_op(Op op);

  const std::vector<Tensor>& tensors() const { return tensors_; }
  const std::vector<Op>& ops() const { return ops_; }
  const Tensor& tensor(TensorId id) const { return tensors_.at(as_index(id)); }
  Tensor& tensor(TensorId id) { return tensors_.at(as_index(id)); }
  const Op& op(OpIndex index) const { return ops_.at(as_index(index)); }
  Op& op(OpIndex index) { return ops_.at(as_index(index)); }
  OpIndex op_count() const { return as_id<OpIndex>(ops_.size()); }
  TensorId tensor_count() const { return as_id<TensorId>(tensors_.size()); }

  // 32 hex digits over everything that a plan depends on: kinds, attributes, operands, shapes, layouts, bytes.
  std::string fingerprint() const;

 private:
  std::vector<Tensor> tensors_;
  std::vector<Op> ops_;
};

// The text that identifies equal work (profile cache key): kind, attributes, operand shapes, dtypes and layouts,
// implementation. Two ops of any models with equal signatures run the same kernel.
std::string op_signature(const Graph& graph, const Op& op);

}  // namespace sluice::graph
