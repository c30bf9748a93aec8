#include "sluice/graph/rewrite/slice_dense.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/base/interval.hpp"
#include "sluice/graph/ops/op_traits.hpp"

namespace sluice::graph {
namespace {

using Features = Interval<std::int64_t>;

std::vector<Features> feature_parts(std::int64_t features, Bytes bytes_per_feature, Bytes limit) {
  const std::int64_t fitting = std::max<std::int64_t>(1, limit / bytes_per_feature);
  const std::int64_t unit = fitting >= 16 ? 16 : 1;
  const std::int64_t units = (features + unit - 1) / unit;
  const std::int64_t slices = (units + fitting / unit - 1) / (fitting / unit);
  std::vector<Features> cuts;
  for (std::int64_t i = 0; i < slices; ++i) {
    cuts.push_back({units * i / slices * unit, std::min(features, units * (i + 1) / slices * unit)});
  }
  return cuts;
}

// Tensors that are cut alike: a weight and what goes with it (bias, gradients, optimizer state), in the original graph.
struct Group {
  std::vector<Features> cuts;
  std::set<TensorId> tensors;

  bool has(TensorId id) const { return tensors.count(id) > 0; }
};

struct Operands {
  std::vector<TensorId> cut;    // one tensor a slice
  std::vector<TensorId> read;   // whole
  std::vector<TensorId> write;  // whole
};

// Which operands are cut when an op is sliced, by its kind's letters; nothing when it cannot be. A fused activation
// would want the whole.
std::optional<Operands> operands_of(const Op& op) {
  const OperandLetters& letters = traits(op.kind).features;
  if (letters.empty() || op.slice.end != 0 || fused_activation(op.attributes) != Activation::kNone) return {};
  Operands operands;
  const auto add = [&](TensorId id, char letter) {
    (letter == 'c' ? operands.cut : letter == 'r' ? operands.read : operands.write).push_back(id);
  };
  for (std::size_t i = 0; i < op.inputs.size(); ++i) add(op.inputs[i], letters.input(i));
  for (std::size_t i = 0; i < op.outputs.size(); ++i) add(op.outputs[i], letters.output(i));
  return operands;
}

bool names_any(const Op& op, const Group& group) {
  const auto in = [&](TensorId id) { return group.has(id); };
  return std::any_of(op.inputs.begin(), op.inputs.end(), in) || std::any_of(op.outputs.begin(), op.outputs.end(), in);
}

// Everything that must be cut when `weight` is; nothing when an op stands against it.
std::optional<Group> find_group(const Graph& graph, TensorId weight, Bytes limit) {
  const Tensor& tensor = graph.tensor(weight);
  Group group{feature_parts(tensor.shape[0], tensor.bytes / tensor.shape[0], limit), {weight}};
  for (std::size_t before = 0; before != group.tensors.size();) {
    before = group.tensors.size();
    for (const Op& op : graph.ops()) {
      if (!names_any(op, group)) continue;
      const std::optional<Operands> operands = operands_of(op);
      if (!operands) return std::nullopt;
      group.tensors.insert(operands->cut.begin(), operands->cut.end());
      const auto cut_too = [&](TensorId id) { return group.has(id); };
      if (std::any_of(operands->read.begin(), operands->read.end(), cut_too)) return std::nullopt;
      if (std::any_of(operands->write.begin(), operands->write.end(), cut_too)) return std::nullopt;
    }
  }
  return group;
}

// Ops of one group that are emitted slice by slice, and the ops between them that are put off until after.
struct Run {
  std::vector<OpIndex> ops;
  std::vector<OpIndex> put_off;
  OpIndex end = 0;
};

class Slicer {
 public:
  Slicer(const Graph& graph, Bytes limit) : graph_(graph), group_of_op_(graph.ops().size(), kNone) {
    for (OpIndex index = 0; index < graph.op_count(); ++index) {
      const Op& op = graph.op(index);
      const bool whole = op.slice.end == 0 && group_of_op_[as_index(index)] == kNone;
      if (!whole || (op.kind != OpKind::kDense && op.kind != OpKind::kEmbedding)) continue;
      const Tensor& weight = graph.tensor(op.inputs[1]);
      if (weight.role != Role::kParameter || weight.bytes <= limit || weight.shape[0] < 2) continue;
      if (std::optional<Group> group = find_group(graph, op.inputs[1], limit)) add_group(*std::move(group));
    }
  }

  Graph run() && {
    result_.name = graph_.name;
    result_.layers = graph_.layers;
    copy_tensors();
    for (OpIndex index = 0; index < graph_.op_count();) {
      if (group_of_op_[as_index(index)] == kNone) {
        emit_whole(index++);
        continue;
      }
      const Run run = find_run(index);
      emit_slices(groups_[as_index(group_of_op_[as_index(index)])], run.ops);
      for (const OpIndex later : run.put_off) emit_whole(later);
      index = run.end;
    }
    return std::move(result_);
  }

 private:
  static constexpr int kNone = -1;

  void add_group(Group group) {
    for (OpIndex index = 0; index < graph_.op_count(); ++index) {
      if (names_any(graph_.op(index), group)) group_of_op_[as_index(index)] = count_of(groups_);
    }
    groups_.push_back(std::move(group));
  }

  void copy_tensors() {
    std::map<TensorId, const Group*> group_of;
    for (const Group& group : groups_) {
      for (const TensorId id : group.tensors) group_of[id] = &group;
    }
    for (TensorId id = 0; id < graph_.tensor_count(); ++id) {
      std::vector<TensorId>& ids = new_ids_.emplace_back();
      const auto found = group_of.find(id);
      if (found == group_of.end()) {
        ids.push_back(result_.add_tensor(graph_.tensor(id)));
        continue;
      }
      for (const Features& features : found->second->cuts) ids.push_back(result_.add_tensor(part(id, features)));
    }
  }

  Tensor part(TensorId id, const Features& features) const {
    Tensor tensor = graph_.tensor(id);
    const std::int64_t elements_per_feature = element_count(tensor.shape) / tensor.shape[0];
    cut_rows(tensor, features);
    tensor.shape[0] = features.length();
    tensor.bytes = 0;
    tensor.init.first_element += features.begin * elements_per_feature;
    return tensor;
  }

  // As many of the group's ops from `begin` on as can be done for one slice before the next. Other ops of the same
  // layer's backward pass that stand between them (sums of activation gradients) may wait.
  Run find_run(OpIndex begin) const {
    Run run;
    run.end = begin;
    for (OpIndex index = begin; index < graph_.op_count(); ++index) {
      const Op& op = graph_.op(index);
      if (group_of_op_[as_index(index)] == group_of_op_[as_index(begin)]) {
        if (!joins(run, op)) break;
        run.ops.push_back(index);
        run.end = index + 1;
      } else if (group_of_op_[as_index(index)] == kNone && op.phase != Phase::kForward &&
                 op.layer == graph_.op(begin).layer) {
        run.put_off.push_back(index);
      } else {
        break;
      }
    }
    std::erase_if(run.put_off, [&](OpIndex index) { return index >= run.end; });
    return run;
  }

  // A slice of `op` must not need whole tensors that the run makes slice by slice, nor depend on what is put off.
  bool joins(const Run& run, const Op& op) const {
    const Operands operands = *operands_of(op);
    const bool bound = std::any_of(run.ops.begin(), run.ops.end(), [&](OpIndex index) {
      const Operands earlier = *operands_of(graph_.op(index));
      return meet(operands.read, earlier.write) || meet(operands.write, earlier.read) ||
             meet(operands.write, earlier.write);
    });
    return !bound && std::none_of(run.put_off.begin(), run.put_off.end(),
                                  [&](OpIndex index) { return !independent(op, graph_.op(index)); });
  }

  void emit_whole(OpIndex index) {
    Op op = graph_.op(index);
    rename(op, 0);
    result_.add_op(std::move(op));
  }

  // All of `indices` for one slice, then for the next, so that a slice's gradient is short-lived. The backward pass
  // begins with the last slice: the forward pass has just left it in fast memory.
  void emit_slices(const Group& group, const std::vector<OpIndex>& indices) {
    const std::size_t count = group.cuts.size();
    const bool forward = graph_.op(indices.front()).phase == Phase::kForward;
    for (std::size_t turn = 0; turn < count; ++turn) {
      const std::size_t slice = forward ? turn : count - 1 - turn;
      for (const OpIndex index : indices) emit_slice(graph_.op(index), group.cuts[slice], slice, turn == 0);
    }
  }

  void emit_slice(Op op, const Features& features, std::size_t slice, bool first) {
    const Operands operands = *operands_of(op);
    rename(op, slice);
    op.name += fmt::format("[{}:{}]", features.begin, features.end);
    // An op that sees parts alone does not know that they are parts.
    if (!operands.read.empty() || !operands.write.empty()) {
      op.slice.begin = features.begin;
      op.slice.end = features.end;
    }
    // The output stays whole, so every slice but the first to run finds the others' work in it.
    if (!operands.write.empty() && !first) {
      op.slice.partial = true;
      op.inputs.push_back(op.outputs[0]);
    }
    result_.add_op(std::move(op));
  }

  void rename(Op& op, std::size_t slice) const {
    for (auto* operands : {&op.inputs, &op.outputs}) {
      for (TensorId& id : *operands) {
        const std::vector<TensorId>& ids = new_ids_[as_index(id)];
        id = ids.size() == 1 ? ids[0] : ids[slice];
      }
    }
  }

  const Graph& graph_;
  std::vector<Group> groups_;
  std::vector<int> group_of_op_;                // by OpIndex of graph_: index in groups_ or kNone
  std::vector<std::vector<TensorId>> new_ids_;  // by TensorId of graph_: one, or one a slice
  Graph result_;
};

}  // namespace

Bytes dense_slice_limit(const Graph& forward) {
  Bytes bytes = 0;
  for (const Tensor& tensor : forward.tensors()) bytes += tensor.bytes;
  return std::clamp<Bytes>(bytes / 64, 4 * kMiB, kDenseSliceLimit);
}

Graph slice_dense(const Graph& logical, Bytes limit) {
  SLUICE_CHECK(limit > 0, "the limit of a dense slice must be positive");
  return Slicer(logical, limit).run();
}

}  // namespace sluice::graph
