#include "sluice/planners/schedule/checkpoints.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/planners/schedule/rematerialization.hpp"

namespace sluice::planners {
namespace {

constexpr int kNoSegment = -1;

class Segments {
 public:
  Segments(const graph::Graph& graph, double length)
      : graph_(graph),
        length_(length),
        reads_(values_read(graph)),
        segment_of_(graph.ops().size(), kNoSegment),
        checkpoint_(graph.ops().size(), false) {
    cut_into_segments();
    choose_checkpoints();
  }

  int segment_of(graph::OpIndex op) const { return segment_of_[as_index(op)]; }
  bool forgets(graph::OpIndex op) const {
    return segment_of(op) != kNoSegment && !last_segments_.contains(segment_of(op)) && !checkpoint_[as_index(op)];
  }

 private:
  // An op that overwrites what it reads stays with the op that made it: both are made again, or neither.
  void cut_into_segments() {
    const graph::Liveness liveness = graph::analyze_liveness(graph_);
    int layer = 0, last = 0;
    for (const graph::LayerSpan& span : liveness.spans) {
      if (span.backward) continue;
      if (layer > 0 &&
          graph_.op(span.ops.begin).kind == graph::OpKind::kInput) {  // another batch begins with a segment
        last_segments_.insert(last);
        layer = static_cast<int>(std::ceil((last + 1) * length_));
      }
      for (graph::OpIndex index = span.ops.begin; index < span.ops.end; ++index) {
        if (graph_.op(index).phase != graph::Phase::kForward) continue;
        segment_of_[as_index(index)] = segment_of_overwritten(index).value_or(static_cast<int>(layer / length_));
        last = std::max(last, segment_of_[as_index(index)]);
      }
      ++layer;
    }
    last_segments_.insert(last);
  }

  std::optional<int> segment_of_overwritten(graph::OpIndex index) const {
    const graph::Op& op = graph_.op(index);
    for (const OpValue& value : reads_[as_index(index)]) {
      const bool overwrites = std::ranges::find(op.outputs, value.tensor) != op.outputs.end();
      if (overwrites && value.writer >= 0) return segment_of_[as_index(value.writer)];
    }
    return std::nullopt;
  }

  void choose_checkpoints() {
    for (graph::OpIndex index = 0; index < graph_.op_count(); ++index) {
      for (const OpValue& value : reads_[as_index(index)]) {
        if (value.writer < 0) continue;
        if (segment_of_[as_index(index)] > segment_of_[as_index(value.writer)]) {
          checkpoint_[as_index(value.writer)] = true;
        }
      }
    }
  }

  const graph::Graph& graph_;
  double length_;                            // layer spans
  std::vector<std::vector<OpValue>> reads_;  // by op
  std::vector<int> segment_of_;              // by op; kNoSegment: not of the forward pass
  std::vector<bool> checkpoint_;             // by op: a later segment reads what it makes
  std::set<int> last_segments_;              // of each batch
};

}  // namespace

Result<std::vector<graph::OpIndex>> schedule_with_checkpoints(const graph::Graph& graph, double length,
                                                              std::string_view planner) {
  const Segments segments(graph, length);
  const Rematerialization rematerialization{
      .forgets = [&](const OpValue& value) { return segments.forgets(value.writer); },
      .group = [&](graph::OpIndex op) { return segments.segment_of(op); },
      .in_every_batch = true};
  return schedule_rematerialization(graph, rematerialization, planner);
}

std::int64_t forward_spans(const graph::Graph& graph) {
  return std::ranges::count_if(graph::analyze_liveness(graph).spans,
                               [](const graph::LayerSpan& span) { return !span.backward; });
}

}  // namespace sluice::planners
