#include "sluice/graph/autodiff/recompute.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/op_traits.hpp"

namespace sluice {
namespace {

// The op that makes `op`'s first output again. Its outputs are those that it repeats.
Op again(const Op& op) {
  Op copy = repeated_form(op);
  copy.name = op.name + ".again";
  copy.phase = Phase::kBackward;
  return copy;
}

// Its kind is (op_traits.hpp), unless the op would need what is not kept: a batch norm its residual, a function its
// input where the gradient is found from the result.
bool cheap(const Op& op) {
  if (op.phase != Phase::kForward || !traits(op.kind).again || !repeatable(again(op))) return false;
  if (op.kind == OpKind::kBatchNorm) return op.inputs.size() == 3;
  if (op.kind != OpKind::kUnary) return true;
  return op.attributes.unary != UnaryFunction::kLinear && !backward_reads_output(op.attributes.unary);
}

class Recomputation {
 public:
  explicit Recomputation(Graph& graph)
      : graph_(graph), before_(graph.ops().size()), readers_(graph.tensors().size()), writers_(graph.tensors().size()) {
    for (OpIndex index = 0; index < graph.op_count(); ++index) {
      for (const TensorId id : graph.op(index).inputs) readers_[as_index(id)].push_back(index);
      for (const TensorId id : graph.op(index).outputs) writers_[as_index(id)].push_back(index);
    }
  }

  // From the last forward op to the first, so that what a recomputed activation is made from can be recomputed, too.
  void run() && {
    for (OpIndex index = graph_.op_count() - 1; index >= 0; --index) {
      if (cheap(graph_.op(index))) consider(index);
    }
    Graph result;
    result.name = graph_.name;
    result.layers = graph_.layers;
    for (TensorId id = 0; id < graph_.tensor_count(); ++id) result.add_tensor(std::move(graph_.tensor(id)));
    for (OpIndex index = 0; index < graph_.op_count(); ++index) {
      for (Op& op : before_[as_index(index)]) result.add_op(std::move(op));
      result.add_op(std::move(graph_.op(index)));
    }
    graph_ = std::move(result);
  }

 private:
  bool backward(OpIndex index) const { return graph_.op(index).phase != Phase::kForward; }

  void consider(OpIndex index) {
    const TensorId y = graph_.op(index).outputs[0];
    const std::optional<OpIndex> place = first_backward_reader(y);
    if (!place || graph_.tensor(y).role != Role::kActivation || !worthwhile(index, y, *place)) return;
    Op op = again(graph_.op(index));
    op.layer = graph_.op(*place).layer;
    for (TensorId& id : op.outputs) {
      Tensor copy = graph_.tensor(id);
      copy.name += ".again";
      id = graph_.add_tensor(std::move(copy));
    }
    redirect(y, op.outputs[0]);
    for (const TensorId id : op.inputs) readers_[as_index(id)].push_back(*place);
    auto& here = before_[as_index(*place)];
    here.insert(here.begin(), std::move(op));
  }

  std::optional<OpIndex> first_backward_reader(TensorId id) const {
    std::optional<OpIndex> first;
    for (const OpIndex reader : readers_[as_index(id)]) {
      if (backward(reader) && (!first || reader < *first)) first = reader;
    }
    return first;
  }

  // Nothing keeps the activation until then, its operands are kept until then, and they still are what they were.
  bool worthwhile(OpIndex index, TensorId y, OpIndex place) const {
    const auto& readers = readers_[as_index(y)];
    if (std::any_of(readers.begin(), readers.end(), [&](OpIndex i) { return i > place && !backward(i); })) return false;
    for (const TensorId id : again(graph_.op(index)).inputs) {
      const auto& uses = readers_[as_index(id)];
      const auto& writes = writers_[as_index(id)];
      const bool kept = is_persistent(graph_.tensor(id).role) ||
                        std::any_of(uses.begin(), uses.end(), [&](OpIndex i) { return i >= place; });
      const bool changed = std::any_of(writes.begin(), writes.end(), [&](OpIndex i) { return i > index && i < place; });
      if (!kept || changed) return false;
    }
    return true;
  }

  // All backward readers, inserted ones included, read `to` instead.
  void redirect(TensorId from, TensorId to) {
    for (const OpIndex reader : readers_[as_index(from)]) {
      if (!backward(reader)) continue;
      std::replace(graph_.op(reader).inputs.begin(), graph_.op(reader).inputs.end(), from, to);
      for (Op& op : before_[as_index(reader)]) std::replace(op.inputs.begin(), op.inputs.end(), from, to);
    }
  }

  Graph& graph_;
  std::vector<std::vector<Op>> before_;        // by OpIndex: ops to insert before it
  std::vector<std::vector<OpIndex>> readers_;  // by TensorId of the given graph
  std::vector<std::vector<OpIndex>> writers_;
};

}  // namespace

void recompute_cheap_activations(Graph& training) { Recomputation(training).run(); }

}  // namespace sluice
