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
#include <optional>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/graph/reschedule.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/making_again.hpp"
#include "sluice/planners/schedule/tensor_schedule.hpp"

namespace sluice {
namespace {

constexpr int kNoSegment = -1;

class SqrtSegments {
 public:
  explicit SqrtSegments(const Graph& graph)
      : graph_(graph),
        reads_(values_read(graph)),
        segment_of_(graph.ops().size(), kNoSegment),
        checkpoint_(graph.ops().size(), false) {
    cut_into_segments();
    choose_checkpoints();
  }

  int segment_of(OpIndex op) const { return segment_of_[as_index(op)]; }
  bool forgets(OpIndex op) const {
    return segment_of(op) != kNoSegment && segment_of(op) != last_segment_ && !checkpoint_[as_index(op)];
  }

 private:
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

  const Graph& graph_;
  std::vector<std::vector<OpValue>> reads_;  // by op
  std::vector<int> segment_of_;              // by op; kNoSegment: not of the forward pass
  std::vector<bool> checkpoint_;             // by op: a later segment reads what it makes
  int last_segment_ = 0;
};

Result<Plan> plan_chen_sqrt(const PlanRequest& request) {
  const SqrtSegments segments(request.graph);
  const Forgetting forgetting{.forgets = [&](const OpValue& value) { return segments.forgets(value.writer); },
                              .group = [&](OpIndex op) { return segments.segment_of(op); }};
  SLUICE_ASSIGN(const std::vector<OpIndex> schedule, schedule_making_again(request.graph, forgetting, "chen-sqrt"));
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
          .plan = plan_chen_sqrt,
          .traits = {.recomputes = true, .whole_step = true}};
}

}  // namespace sluice
