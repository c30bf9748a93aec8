#include "sluice/planners/schedule/rematerialization.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"

namespace sluice::planners {
namespace {

constexpr graph::OpIndex kForgotten = -2;

class Rematerializing {
 public:
  Rematerializing(const graph::Graph& graph, const Rematerialization& rematerialization, std::string_view planner)
      : graph_(graph),
        rematerialization_(rematerialization),
        planner_(planner),
        reads_(values_read(graph)),
        has_run_(graph.ops().size(), false),
        holds_(graph.tensors().size(), graph::kBeforeTheStep) {}

  Result<std::vector<graph::OpIndex>> write() && {
    for (graph::OpIndex index = 0; index < graph_.op_count(); ++index) {
      if (rematerialization_.in_every_batch && graph_.op(index).kind == graph::OpKind::kInput) backward_ = false;
      if (graph_.op(index).phase != graph::Phase::kForward && !backward_) forget();
      if (backward_) SLUICE_RETURN_IF_ERROR(rematerialize_for(index));
      run(index);
    }
    return std::move(schedule_);
  }

 private:
  void forget() {
    backward_ = true;
    for (graph::TensorId id = 0; id < graph_.tensor_count(); ++id) {
      graph::OpIndex& writer = holds_[as_index(id)];
      if (writer >= 0 && rematerialization_.forgets({writer, id}) && can_be_rematerialized(graph_, {writer, id})) {
        writer = kForgotten;
      }
    }
  }

  bool at_hand(const OpValue& value) const { return holds_[as_index(value.tensor)] == value.writer; }

  // What the op misses, and of its groups all that the rest of the step reads.
  Status rematerialize_for(graph::OpIndex reader) {
    std::set<int> groups;
    std::set<graph::OpIndex> wanted;
    for (const OpValue& value : reads_[as_index(reader)]) {
      if (at_hand(value)) continue;
      SLUICE_RETURN_IF_ERROR(want(value, wanted));
      if (const int group = rematerialization_.group(value.writer); group != kByItself) groups.insert(group);
    }
    if (wanted.empty()) return {};
    for (graph::OpIndex index = reader; index < graph_.op_count() && !groups.empty(); ++index) {
      for (const OpValue& value : reads_[as_index(index)]) {
        const bool lost = value.writer >= 0 && value.writer < reader && !at_hand(value);
        if (lost && groups.contains(rematerialization_.group(value.writer))) {
          SLUICE_RETURN_IF_ERROR(want(value, wanted));
        }
      }
    }
    SLUICE_RETURN_IF_ERROR(complete(wanted, reader));
    for (const graph::OpIndex index : wanted) run(index);
    return {};
  }

  // What a wanted op overwrites is no longer at hand for those behind it: then its later writers are wanted, too.
  Status complete(std::set<graph::OpIndex>& wanted, graph::OpIndex reader) {
    for (std::size_t before = 0; before != wanted.size();) {
      before = wanted.size();
      std::vector<graph::OpIndex> holds = holds_;
      const std::set<graph::OpIndex> in_order = wanted;
      for (const graph::OpIndex index : in_order) {
        SLUICE_RETURN_IF_ERROR(want_overwritten(again_reads(index), holds, wanted));
        for (const graph::TensorId id : graph::repeated_form(graph_.op(index)).outputs) holds[as_index(id)] = index;
      }
      SLUICE_RETURN_IF_ERROR(want_overwritten(reads_[as_index(reader)], holds, wanted));
    }
    return {};
  }

  Status want_overwritten(const std::vector<OpValue>& reads, const std::vector<graph::OpIndex>& holds,
                          std::set<graph::OpIndex>& wanted) {
    for (const OpValue& value : reads) {
      if (holds[as_index(value.tensor)] == value.writer || wanted.contains(value.writer)) continue;
      SLUICE_RETURN_IF_ERROR(want_for_sure(value, wanted));
    }
    return {};
  }

  // What an op reads when it runs again.
  std::vector<OpValue> again_reads(graph::OpIndex index) const {
    const graph::Op& op = graph_.op(index);
    std::vector<OpValue> reads;
    for (const graph::TensorId id : graph::repeated_form(op).inputs) {
      const auto input = std::ranges::find(op.inputs, id);
      reads.push_back(input == op.inputs.end() ? OpValue{index, id}
                                               : reads_[as_index(index)][as_index(input - op.inputs.begin())]);
    }
    return reads;
  }

  // The value's op, and those that make what it reads and is no longer there.
  Status want(const OpValue& value, std::set<graph::OpIndex>& wanted) {
    return at_hand(value) || wanted.contains(value.writer) ? Status() : want_for_sure(value, wanted);
  }

  Status want_for_sure(const OpValue& value, std::set<graph::OpIndex>& wanted) {
    if (value.writer < 0 || !graph::may_repeat(graph_.op(value.writer).kind)) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("{}: {} cannot be made again", planner_, graph_.tensor(value.tensor).name)};
    }
    wanted.insert(value.writer);
    for (const OpValue& read : again_reads(value.writer)) SLUICE_RETURN_IF_ERROR(want(read, wanted));
    return {};
  }

  void run(graph::OpIndex index) {
    const graph::Op& op = graph_.op(index);
    for (const graph::TensorId id : has_run_[as_index(index)] ? graph::repeated_form(op).outputs : op.outputs) {
      holds_[as_index(id)] = index;
    }
    has_run_[as_index(index)] = true;
    schedule_.push_back(index);
  }

  const graph::Graph& graph_;
  const Rematerialization& rematerialization_;
  std::string_view planner_;
  std::vector<std::vector<OpValue>> reads_;  // by op
  std::vector<bool> has_run_;                // by op
  bool backward_ = false;
  std::vector<graph::OpIndex> holds_;  // by tensor: who wrote what is at hand now
  std::vector<graph::OpIndex> schedule_;
};

}  // namespace

std::vector<std::vector<OpValue>> values_read(const graph::Graph& graph) {
  std::vector<std::vector<OpValue>> reads;
  std::vector<graph::OpIndex> holds(graph.tensors().size(), graph::kBeforeTheStep);
  for (graph::OpIndex index = 0; index < graph.op_count(); ++index) {
    std::vector<OpValue>& of_op = reads.emplace_back();
    for (const graph::TensorId id : graph.op(index).inputs) of_op.push_back({holds[as_index(id)], id});
    for (const graph::TensorId id : graph.op(index).outputs) holds[as_index(id)] = index;
  }
  return reads;
}

bool can_be_rematerialized(const graph::Graph& graph, const OpValue& value) {
  if (value.writer < 0 || !graph::may_repeat(graph.op(value.writer).kind)) return false;
  const graph::Role role = graph.tensor(value.tensor).role;
  const graph::Op again = graph::repeated_form(graph.op(value.writer));
  return role != graph::Role::kOutput && !graph::is_persistent(role) &&
         std::ranges::find(again.outputs, value.tensor) != again.outputs.end();
}

Result<std::vector<graph::OpIndex>> schedule_rematerialization(const graph::Graph& graph,
                                                               const Rematerialization& rematerialization,
                                                               std::string_view planner) {
  return Rematerializing(graph, rematerialization, planner).write();
}

}  // namespace sluice::planners
