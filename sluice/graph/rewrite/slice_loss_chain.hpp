// The ops that lead from a dense layer through its loss and back, where they may be sliced by rows together.
//
//   kDense -> kReshape* -> kSoftmaxCrossEntropy -> kSoftmaxCrossEntropyBackward -> kReshape* -> kDenseBackward*
//
// A chain stands alone: nobody else reads what is passed along it, and no op between its parts is in their way. So the
// whole chain may be done where its middle op is. Internal to slice_loss.
#pragma once

#include <optional>
#include <vector>

#include "sluice/graph/graph.hpp"
#include "sluice/graph/liveness.hpp"

namespace sluice::graph {

struct LossChain {
  OpIndex dense = 0;
  OpIndex loss = 0;
  std::optional<OpIndex> backward;  // the loss's; an evaluation graph has none, nor products
  std::vector<OpIndex> products;    // kDenseBackwardData, kDenseBackwardWeights
  std::vector<OpIndex> ops;         // all of these, and the views between them

  OpIndex middle() const { return backward.value_or(loss); }
};

class LossChainFinder {
 public:
  explicit LossChainFinder(const Graph& graph) : graph_(graph), uses_(analyze_liveness(graph).uses) {}

  // The chain of a kSoftmaxCrossEntropy; nothing when it has none.
  std::optional<LossChain> find(OpIndex loss) const;

  // Adds to `replaced` the backward ops whose results only `replaced` ops read: those that made the layer's input
  // again.
  void add_needless(std::vector<bool>& replaced) const;

 private:
  bool add_forward(LossChain& chain) const;
  bool add_backward(LossChain& chain) const;
  bool belongs(const Op& product, TensorId dy, const Op& dense) const;
  bool independent(const LossChain& chain) const;
  bool same_value(TensorId a, TensorId b) const;
  std::vector<OpIndex> readers(TensorId id) const;
  std::optional<OpIndex> only_writer(TensorId id) const;

  const Graph& graph_;
  std::vector<std::vector<Use>> uses_;  // by TensorId
};

}  // namespace sluice::graph
