// chen-sqrt: checkpoints every sqrt(n) layers, the rest made again (Chen et al. 2016, section 4).
//
// The forward pass of n layer spans is cut into about sqrt(n) segments. What one segment makes for a later one is kept,
// a checkpoint. What only the segment itself and its backward pass read is forgotten after its last reader. It is made
// again, all together and in the old order, right before the first backward op that reads some of it. The last segment
// is kept, as its backward pass begins at once. Everything stays in the fast tier.
//
//   forward        | a b c | d e f | g h i |
//   kept                 c       f   g h i
//   backward                                 i' h' g'  d e f'  e' d'  a b c'  b' a'
#include <algorithm>
#include <cmath>
#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/op_traits.hpp"
#include "sluice/graph/reschedule.hpp"
#include "sluice/graph/value_numbers.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/tensor_schedule.hpp"

namespace sluice {
namespace {

constexpr int kNoSegment = -1;
constexpr OpIndex kForgotten = -2;

// What an op writes into a tensor.
struct OpValue {
  OpIndex writer = kBeforeTheStep;
  TensorId tensor = 0;
};

class SqrtSchedule {
 public:
  explicit SqrtSchedule(const Graph& graph)
      : graph_(graph),
        segment_of_(graph.ops().size(), kNoSegment),
        checkpoint_(graph.ops().size(), false),
        holds_(graph.tensors().size(), kBeforeTheStep) {
    follow_values();
    cut_into_segments();
    choose_checkpoints();
  }

  // kUnsupported where a value is needed again that nothing can make again.
  Result<std::vector<OpIndex>> write() && {
    for (OpIndex index = 0; index < graph_.op_count(); ++index) {
      if (graph_.op(index).phase != Phase::kForward && !backward_) forget();
      if (backward_) SLUICE_RETURN_IF_ERROR(make_again_for(index));
      run(index);
    }
    return std::move(schedule_);
  }

 private:
  void follow_values() {
    for (OpIndex index = 0; index < graph_.op_count(); ++index) {
      std::vector<OpValue>& reads = reads_.emplace_back();
      for (const TensorId id : graph_.op(index).inputs) reads.push_back({holds_[as_index(id)], id});
      for (const TensorId id : graph_.op(index).outputs) holds_[as_index(id)] = index;
    }
    std::ranges::fill(holds_, kBeforeTheStep);
  }

  // An op that overwrites what it reads stays with the op that made it: both are made again, or neither.
  void cut_into_segments() {
    const Liveness liveness = analyze_liveness(graph_);
    const auto layers = std::ranges::count_if(liveness.spans, [](const LayerSpan& span) { return !span.backward; });
    const double length = std::max(1.0, std::sqrt(static_cast<double>(layers)));
    int layer = 0;
    for (const LayerSpan& span : liveness.spans) {
      if (span.backward) continue;
      for (OpIndex index = span.ops.begin; index < span.ops.end; ++index) {
        if (graph_.op(index).phase != Phase::kForward) continue;
        segment_of_[as_index(index)] = segment_of_overwritten(index).value_or(static_cast<int>(layer / length));
        last_segment_ = std::max(last_segment_, segment_of_[as_index(index)]);
      }
      ++layer;
    }
  }

  std::optional<int> segment_of_overwritten(OpIndex index) const {
    const Op& op = graph_.op(index);
    for (const OpValue& value : reads_[as_index(index)]) {
      const bool overwrites = std::ranges::find(op.outputs, value.tensor) != op.outputs.end();
      if (overwrites && value.writer >= 0) return segment_of_[as_index(value.writer)];
    }
    return std::nullopt;
  }

  void choose_checkpoints() {
    for (OpIndex index = 0; index < graph_.op_count(); ++index) {
      for (const OpValue& value : reads_[as_index(index)]) {
        if (value.writer < 0) continue;
        if (segment_of_[as_index(index)] > segment_of_[as_index(value.writer)]) {
          checkpoint_[as_index(value.writer)] = true;
        }
      }
    }
  }

  bool forgettable(OpIndex writer, TensorId tensor) const {
    const Op& op = graph_.op(writer);
    const Op again = repeated_form(op);
    const int segment = segment_of_[as_index(writer)];
    return may_repeat(op.kind) && segment != kNoSegment && segment != last_segment_ && !checkpoint_[as_index(writer)] &&
           graph_.tensor(tensor).role != Role::kOutput && !is_persistent(graph_.tensor(tensor).role) &&
           std::ranges::find(again.outputs, tensor) != again.outputs.end();
  }

  void forget() {
    backward_ = true;
    for (TensorId id = 0; id < graph_.tensor_count(); ++id) {
      OpIndex& writer = holds_[as_index(id)];
      if (writer >= 0 && forgettable(writer, id)) writer = kForgotten;
    }
  }

  bool at_hand(const OpValue& value) const { return holds_[as_index(value.tensor)] == value.writer; }

  // Of the segment of each value that the op misses, all that the rest of the step reads.
  Status make_again_for(OpIndex reader) {
    std::set<int> segments;
    std::set<OpIndex> wanted;
    for (const OpValue& value : reads_[as_index(reader)]) {
      if (at_hand(value)) continue;
      SLUICE_RETURN_IF_ERROR(want(value, wanted));
      segments.insert(segment_of_[as_index(value.writer)]);
    }
    if (segments.empty()) return {};
    for (OpIndex index = reader; index < graph_.op_count(); ++index) {
      for (const OpValue& value : reads_[as_index(index)]) {
        const bool lost = value.writer >= 0 && value.writer < reader && !at_hand(value);
        if (lost && segments.contains(segment_of_[as_index(value.writer)])) {
          SLUICE_RETURN_IF_ERROR(want(value, wanted));
        }
      }
    }
    SLUICE_RETURN_IF_ERROR(complete(wanted, reader));
    for (const OpIndex index : wanted) run(index);
    return {};
  }

  // What a wanted op overwrites is no longer at hand for those behind it: then its later writers are wanted, too.
  Status complete(std::set<OpIndex>& wanted, OpIndex reader) {
    for (std::size_t before = 0; before != wanted.size();) {
      before = wanted.size();
      std::vector<OpIndex> holds = holds_;
      const std::set<OpIndex> in_order = wanted;
      for (const OpIndex index : in_order) {
        SLUICE_RETURN_IF_ERROR(want_overwritten(again_reads(index), holds, wanted));
        for (const TensorId id : repeated_form(graph_.op(index)).outputs) holds[as_index(id)] = index;
      }
      SLUICE_RETURN_IF_ERROR(want_overwritten(reads_[as_index(reader)], holds, wanted));
    }
    return {};
  }

  Status want_overwritten(const std::vector<OpValue>& reads, const std::vector<OpIndex>& holds,
                          std::set<OpIndex>& wanted) {
    for (const OpValue& value : reads) {
      if (holds[as_index(value.tensor)] == value.writer || wanted.contains(value.writer)) continue;
      SLUICE_RETURN_IF_ERROR(want_for_sure(value, wanted));
    }
    return {};
  }

  // What an op reads when it runs again.
  std::vector<OpValue> again_reads(OpIndex index) const {
    const Op& op = graph_.op(index);
    std::vector<OpValue> reads;
    for (const TensorId id : repeated_form(op).inputs) {
      const auto input = std::ranges::find(op.inputs, id);
      reads.push_back(input == op.inputs.end()
                          ? OpValue{index, id}
                          : reads_[as_index(index)][static_cast<std::size_t>(input - op.inputs.begin())]);
    }
    return reads;
  }

  // The value's op, and those that make what it reads and is no longer there.
  Status want(const OpValue& value, std::set<OpIndex>& wanted) {
    return at_hand(value) || wanted.contains(value.writer) ? Status() : want_for_sure(value, wanted);
  }

  Status want_for_sure(const OpValue& value, std::set<OpIndex>& wanted) {
    if (value.writer < 0 || !may_repeat(graph_.op(value.writer).kind)) {
      return Error{ErrorCode::kUnsupported, "chen-sqrt: " + graph_.tensor(value.tensor).name + " cannot be made again"};
    }
    wanted.insert(value.writer);
    for (const OpValue& read : again_reads(value.writer)) SLUICE_RETURN_IF_ERROR(want(read, wanted));
    return {};
  }

  void run(OpIndex index) {
    const Op& op = graph_.op(index);
    const bool again = std::ranges::find(schedule_, index) != schedule_.end();
    for (const TensorId id : again ? repeated_form(op).outputs : op.outputs) holds_[as_index(id)] = index;
    schedule_.push_back(index);
  }

  const Graph& graph_;
  std::vector<std::vector<OpValue>> reads_;  // by op
  std::vector<int> segment_of_;              // by op; kNoSegment: not of the forward pass
  std::vector<bool> checkpoint_;             // by op: a later segment reads what it makes
  int last_segment_ = 0;
  bool backward_ = false;
  std::vector<OpIndex> holds_;  // by tensor: who wrote what is at hand now
  std::vector<OpIndex> schedule_;
};

Result<Plan> plan_chen_sqrt(const PlanRequest& request) {
  SLUICE_ASSIGN(const std::vector<OpIndex> schedule, SqrtSchedule(request.graph).write());
  SLUICE_ASSIGN(const Rescheduled step, reschedule(request.graph, schedule));
  const Liveness liveness = analyze_liveness(step.graph);
  PlanBuilder builder(step.graph, request.machine);
  for (TensorId tensor = 0; tensor < step.graph.tensor_count(); ++tensor) {
    add_tensor_schedule(builder, step.graph, liveness, tensor, kFastTier,
                        always_fast(liveness, tensor, is_persistent(step.graph.tensor(tensor).role)));
  }
  SLUICE_ASSIGN(Plan plan, builder.finish(request.budgets));
  plan.graph_fingerprint = request.graph.fingerprint();
  if (!is_own_order(schedule, request.graph.op_count())) plan.schedule = schedule;
  return plan;
}

}  // namespace

PlannerEntry chen_sqrt_planner() {
  return {.name = "chen-sqrt",
          .summary = "checkpoints every sqrt(n) layers, the rest made again (Chen et al. 2016)",
          .plan = plan_chen_sqrt};
}

}  // namespace sluice
