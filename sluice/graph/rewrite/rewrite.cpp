#include "sluice/graph/rewrite/rewrite.hpp"

#include <algorithm>
#include <utility>

#include "sluice/base/as_index.hpp"

namespace sluice::graph {

GraphRewrite::GraphRewrite(const Graph& graph)
    : graph_(graph), living_(graph.ops().size(), true), readers_(graph.tensors().size()), maker_(readers_.size()) {
  for (OpIndex index = 0; index < op_count(); ++index) attach(index);
  remove_dead();
}

void GraphRewrite::attach(OpIndex index) {
  for (const TensorId id : op(index).inputs) {
    std::vector<OpIndex>& readers = readers_[as_index(id)];
    const auto place = std::lower_bound(readers.begin(), readers.end(), index);
    if (place == readers.end() || *place != index) readers.insert(place, index);
  }
  for (const TensorId id : op(index).outputs) {
    if (!is_persistent(tensor(id).role)) maker_[as_index(id)] = index;
  }
}

void GraphRewrite::detach(OpIndex index) {
  for (const TensorId id : op(index).inputs) std::erase(readers_[as_index(id)], index);
  for (const TensorId id : op(index).outputs) {
    if (maker_[as_index(id)] == index) maker_[as_index(id)].reset();
  }
}

std::optional<OpIndex> GraphRewrite::maker(TensorId id) const { return maker_[as_index(id)]; }

std::optional<OpIndex> GraphRewrite::only_reader(TensorId id) const {
  if (readers(id).size() != 1 || tensor(id).role == Role::kOutput) return std::nullopt;
  return readers(id).front();
}

int GraphRewrite::stage_of(OpIndex index) const {
  int stage = 0;
  for (const Stage& candidate : graph_.stages) stage += index >= candidate.end ? 1 : 0;
  return stage;
}

bool GraphRewrite::same_stage(OpIndex a, OpIndex b) const { return stage_of(a) == stage_of(b); }

void GraphRewrite::replace(OpIndex index, Op op) {
  detach(index);
  graph_.op(index) = std::move(op);
  attach(index);
}

void GraphRewrite::remove(OpIndex index) {
  detach(index);
  living_[as_index(index)] = false;
}

void GraphRewrite::read_instead(TensorId old, TensorId replacement) {
  const std::vector<OpIndex> readers = this->readers(old);
  for (const OpIndex index : readers) {
    Op op = graph_.op(index);
    std::replace(op.inputs.begin(), op.inputs.end(), old, replacement);
    replace(index, std::move(op));
  }
}

bool GraphRewrite::dead(const Op& op) const {
  if (op.kind == OpKind::kInput || op.phase != Phase::kForward) return false;
  return std::all_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
    const Role role = tensor(id).role;
    return is_persistent(role) || (role != Role::kOutput && readers(id).empty());
  });
}

void GraphRewrite::remove_dead() {
  for (OpIndex index = op_count() - 1; index >= 0; --index) {
    if (living(index) && dead(op(index))) remove(index);
  }
}

Graph GraphRewrite::finish() && {
  remove_dead();
  Graph result;
  result.name = graph_.name;
  result.layers = graph_.layers;
  std::vector<std::optional<TensorId>> new_ids(graph_.tensors().size());
  std::vector<bool> named(new_ids.size(), false);
  for (OpIndex index = 0; index < op_count(); ++index) {
    if (!living(index)) continue;
    for (const auto* operands : {&op(index).inputs, &op(index).outputs}) {
      for (const TensorId id : *operands) named[as_index(id)] = true;
    }
  }
  for (TensorId id = 0; id < graph_.tensor_count(); ++id) {
    if (named[as_index(id)]) new_ids[as_index(id)] = result.add_tensor(graph_.tensor(id));
  }
  const auto end_stages = [&](OpIndex end) {
    for (const Stage& stage : graph_.stages) {
      if (stage.end != end) continue;
      Stage& ended = result.stages.emplace_back(Stage{result.op_count(), {}});
      for (const TensorId id : stage.trained) {
        if (new_ids[as_index(id)]) ended.trained.push_back(*new_ids[as_index(id)]);
      }
    }
  };
  for (OpIndex index = 0; index < op_count(); ++index) {
    end_stages(index);
    if (!living(index)) continue;
    Op op = graph_.op(index);
    for (auto* operands : {&op.inputs, &op.outputs}) {
      for (TensorId& id : *operands) id = *new_ids[as_index(id)];
    }
    result.add_op(std::move(op));
  }
  end_stages(op_count());
  return result;
}

}  // namespace sluice::graph
