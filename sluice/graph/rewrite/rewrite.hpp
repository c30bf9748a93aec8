// A forward graph while it is rewritten: who makes and who reads each tensor stays known as ops change or go.
//
// Ops keep their index until finish(), which leaves out the removed ones and the tensors that nobody names any more.
#pragma once

#include <optional>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/graph.hpp"

namespace sluice::graph {

class GraphRewrite {
 public:
  // Starts by removing dead ops.
  explicit GraphRewrite(const Graph& graph);

  OpIndex op_count() const { return graph_.op_count(); }
  bool living(OpIndex index) const { return living_[as_index(index)]; }
  const Op& op(OpIndex index) const { return graph_.op(index); }
  const Tensor& tensor(TensorId id) const { return graph_.tensor(id); }
  Tensor& tensor(TensorId id) { return graph_.tensor(id); }

  // Living ops that read the tensor, each once, ascending.
  const std::vector<OpIndex>& readers(TensorId id) const { return readers_[as_index(id)]; }
  // The op that makes the tensor; nothing for persistent tensors.
  std::optional<OpIndex> maker(TensorId id) const;
  // The one op that reads the tensor; nothing when there are more, or when the caller reads it too (kOutput).
  std::optional<OpIndex> only_reader(TensorId id) const;
  // Whether both ops are differentiated together (Graph::stages): only then may they become one.
  bool same_stage(OpIndex a, OpIndex b) const;

  void replace(OpIndex index, Op op);
  void remove(OpIndex index);
  // Every op that reads `old` reads `replacement` from now on.
  void read_instead(TensorId old, TensorId replacement);
  // Removes the ops none of whose results is read. A batch norm that only updates its running statistics counts as
  // dead; the input op does not.
  void remove_dead();

  Graph finish() &&;

 private:
  void attach(OpIndex index);
  void detach(OpIndex index);
  bool dead(const Op& op) const;
  int stage_of(OpIndex index) const;

  Graph graph_;
  std::vector<bool> living_;                   // by OpIndex
  std::vector<std::vector<OpIndex>> readers_;  // by TensorId
  std::vector<std::optional<OpIndex>> maker_;  // by TensorId
};

}  // namespace sluice::graph
