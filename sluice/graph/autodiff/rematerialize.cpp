#include "sluice/graph/autodiff/rematerialize.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"

namespace sluice::graph {
namespace {

// The op that makes `op`'s first output again. Its outputs are those that it repeats.
Op again(const Op& op) {
  Op copy = repeated_form(op);
  copy.name = op.name + ".again";
  copy.phase = Phase::kBackward;
  return copy;
}

constexpr int kLongestChain = 5;             // results that are made again, each from the next
constexpr std::int64_t kMostProducts = 256;  // for one element: then it takes as long as two passes over it

std::int64_t products(const Graph& graph, const Op& matmul) {
  const Shape& a = graph.tensor(matmul.inputs[0]).shape;
  const auto& order = matmul.as<ProductAttributes>().perm_a;
  return order.empty() ? a.back() : a[as_index(order.back())];
}

// Its kind is (op_traits.hpp), unless the op would need what is not kept: a batch norm its residual, a function its
// input where the gradient is found from the result.
bool cheap_alone(const Op& op) {
  if (traits(op.kind).again != Again::kCheap) return false;
  if (op.kind == OpKind::kBatchNorm) return op.inputs.size() == 3;
  if (op.kind != OpKind::kUnary) return true;
  const UnaryFunction function = op.as<UnaryAttributes>().function;
  return function != UnaryFunction::kLinear && !backward_reads_output(function);
}

bool cheap_in_chain(const Graph& graph, const Op& op) {
  if (op.kind == OpKind::kMatMul && products(graph, op) > kMostProducts) return false;
  return traits(op.kind).again != Again::kDear;
}

bool makes_gradient_of_data(OpKind kind) {
  return kind == OpKind::kDenseBackwardData || kind == OpKind::kConv2dBackwardData ||
         kind == OpKind::kConvTranspose2dBackwardData;
}

bool makes_gradient_of_weights(OpKind kind) {
  return kind == OpKind::kDenseBackwardWeights || kind == OpKind::kConv2dBackwardWeights ||
         kind == OpKind::kConvTranspose2dBackwardWeights;
}

// So that what is made again for the gradient of weights is gone when that of data is made. Between the two there may be
// the sum with the data's other gradients.
void put_weights_first(Graph& graph) {
  for (OpIndex index = 1; index < graph.op_count(); ++index) {
    if (!makes_gradient_of_weights(graph.op(index).kind)) continue;
    OpIndex data = index - 1;
    if (data > 0 && graph.op(data).kind == OpKind::kAdd) --data;
    if (!makes_gradient_of_data(graph.op(data).kind) || graph.op(data).inputs[0] != graph.op(index).inputs[1]) continue;
    const auto free_of = [&](OpIndex other) { return independent(graph.op(index), graph.op(other)); };
    if (!free_of(data) || !free_of(index - 1)) continue;  // a weight that is multiplied by itself
    for (OpIndex at = index; at > data; --at) std::swap(graph.op(at - 1), graph.op(at));
  }
}

class Rematerialization {
 public:
  Rematerialization(Graph& graph, Rematerialize what)
      : graph_(graph),
        chains_(what == Rematerialize::kChains),
        before_(graph.ops().size()),
        readers_(graph.tensors().size()),
        writers_(graph.tensors().size()),
        behind_(graph.tensors().size()) {
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

  bool cheap(const Op& op) const {
    if (op.phase != Phase::kForward || !repeatable(again(op))) return false;
    return chains_ ? cheap_in_chain(graph_, op) : cheap_alone(op);
  }

  void consider(OpIndex index) {
    const TensorId y = graph_.op(index).outputs[0];
    const std::optional<OpIndex> place = first_backward_reader(y);
    if (!place || graph_.tensor(y).role != Role::kActivation || !worthwhile(index, y, *place)) return;
    Op op = again(graph_.op(index));
    for (const TensorId id : op.inputs)
      behind_[as_index(id)] = std::max(behind_[as_index(id)], behind_operands(index, behind_[as_index(y)]));
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

  // Nothing keeps the activation until then, its operands are there then, and they still are what they were.
  bool worthwhile(OpIndex index, TensorId y, OpIndex place) const {
    const auto& readers = readers_[as_index(y)];
    if (std::any_of(readers.begin(), readers.end(), [&](OpIndex i) { return i > place && !backward(i); })) return false;
    const int behind = behind_[as_index(y)];
    if (chains_ && behind >= kLongestChain) return false;
    return has_operands(index, place, behind_operands(index, behind));
  }

  // A view is no result of its own.
  int behind_operands(OpIndex index, int behind) const {
    return behind + (graph_.op(index).kind == OpKind::kReshape ? 0 : 1);
  }

  bool has_operands(OpIndex index, OpIndex place, int behind) const {
    const Op op = again(graph_.op(index));
    return std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
      const auto& uses = readers_[as_index(id)];
      const auto& writes = writers_[as_index(id)];
      if (std::any_of(writes.begin(), writes.end(), [&](OpIndex i) { return i > index && i < place; })) return false;
      const bool kept = is_persistent(graph_.tensor(id).role) ||
                        std::any_of(uses.begin(), uses.end(), [&](OpIndex i) { return i >= place; });
      return kept || rematerialized(id, place, behind);
    });
  }

  // As one of a chain, `behind` of which are made from it, each from the next.
  bool rematerialized(TensorId id, OpIndex place, int behind) const {
    const auto& writes = writers_[as_index(id)];
    return chains_ && behind < kLongestChain && writes.size() == 1 && graph_.op(writes[0]).outputs[0] == id &&
           cheap(graph_.op(writes[0])) && has_operands(writes[0], place, behind_operands(writes[0], behind));
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
  const bool chains_;
  std::vector<std::vector<Op>> before_;        // by OpIndex: ops to insert before it
  std::vector<std::vector<OpIndex>> readers_;  // by TensorId of the given graph
  std::vector<std::vector<OpIndex>> writers_;
  std::vector<int> behind_;  // by TensorId: how many results are made again in a row from it
};

}  // namespace

void rematerialize_activations(Graph& training, Rematerialize what) {
  if (what == Rematerialize::kChains) put_weights_first(training);
  Rematerialization(training, what).run();
}

}  // namespace sluice::graph
