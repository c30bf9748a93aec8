#include "sluice/graph/in_place.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/graph/ops/op_traits.hpp"

namespace sluice::graph {
namespace {

bool may_share(Role role) {
  return role == Role::kActivation || role == Role::kActivationGradient || role == Role::kGradient;
}

bool same_format(const Tensor& a, const Tensor& b) {
  return a.bytes == b.bytes && a.dtype == b.dtype && a.shape == b.shape && a.layout == b.layout;
}

bool named_once(const std::vector<TensorId>& operands, TensorId id) {
  return std::count(operands.begin(), operands.end(), id) == 1;
}

class Merger {
 public:
  explicit Merger(Graph& graph) : graph_(graph), ranges_(analyze_liveness(graph).ranges) {
    storage_.resize(graph.tensors().size());
    std::iota(storage_.begin(), storage_.end(), TensorId{0});
  }

  std::vector<TensorId> run() && {
    for (OpIndex index = 0; index < graph_.op_count(); ++index) {
      rename(graph_.op(index));
      merge_first_safe(index);
    }
    return renumber();
  }

 private:
  Interval<OpIndex>& range(TensorId id) { return ranges_[as_index(id)]; }
  TensorId& storage(TensorId id) { return storage_[as_index(id)]; }

  // Earlier ops are merged already and uses come after definitions, so one look-up reaches the storage.
  void rename(Op& op) {
    for (TensorId& id : op.inputs) id = storage(id);
    for (TensorId& id : op.outputs) id = storage(id);
  }

  void merge_first_safe(OpIndex index) {
    Op& op = graph_.op(index);
    for (const InPlace& pair : op.in_place) {
      const TensorId source = op.inputs.at(as_index(pair.input));
      const TensorId target = op.outputs.at(as_index(pair.output));
      if (!safe(index, source, target)) continue;
      storage(target) = source;
      range(source).end = range(target).end;
      op.outputs[as_index(pair.output)] = source;
      return;
    }
  }

  bool safe(OpIndex index, TensorId source, TensorId target) {
    const Op& op = graph_.op(index);
    const bool operands_distinct = named_once(op.inputs, source) && !named_once(op.outputs, source) &&
                                   named_once(op.outputs, target) && !named_once(op.inputs, target);
    const bool disjoint = range(source).end == index + 1 && range(target).begin == index;
    return operands_distinct && disjoint && may_share(graph_.tensor(source).role) &&
           may_share(graph_.tensor(target).role) && same_format(graph_.tensor(source), graph_.tensor(target));
  }

  std::vector<TensorId> renumber() {
    Graph compact;
    compact.name = graph_.name;
    compact.layers = graph_.layers;
    std::vector<TensorId> new_id(storage_.size());
    for (TensorId id = 0; id < graph_.tensor_count(); ++id) {
      const auto slot = as_index(id);
      if (storage(id) == id) new_id[slot] = compact.add_tensor(std::move(graph_.tensor(id)));
    }
    for (std::size_t slot = 0; slot < new_id.size(); ++slot) {
      new_id[slot] = new_id[as_index(storage_[slot])];
    }
    for (OpIndex index = 0; index < graph_.op_count(); ++index) {
      Op op = std::move(graph_.op(index));
      for (TensorId& id : op.inputs) id = new_id[as_index(id)];
      for (TensorId& id : op.outputs) id = new_id[as_index(id)];
      compact.add_op(std::move(op));
    }
    graph_ = std::move(compact);
    return new_id;
  }

  Graph& graph_;
  std::vector<Interval<OpIndex>> ranges_;  // by TensorId; a storage's grows as tensors merge into it
  std::vector<TensorId> storage_;          // by TensorId: the tensor whose storage it uses
};

}  // namespace

void set_in_place_candidates(Graph& graph) {
  for (OpIndex index = 0; index < graph.op_count(); ++index) {
    Op& op = graph.op(index);
    const std::span<const InPlace> pairs = traits(op.kind).in_place;
    op.in_place.assign(pairs.begin(), pairs.end());
  }
}

std::vector<TensorId> merge_in_place(Graph& executable) { return Merger(executable).run(); }

}  // namespace sluice::graph
