#include "sluice/planners/schedule/intervals.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/plan_builder.hpp"
#include "sluice/plan/rooms.hpp"

namespace sluice::planners {
namespace {

// RS of both equations: what fast memory keeps free for short-lived tensors.
Bytes peak_short_lived(const graph::Graph& graph, const graph::Liveness& liveness) {
  IdVector<graph::OpIndex, Bytes> change(graph.ops().size() + 1, 0);
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    const Interval<graph::OpIndex> range = liveness.ranges[id];
    if (!liveness.short_lived[id] || range.empty()) continue;
    change[range.begin] += plan::stored_bytes(graph.tensor(id));
    change[range.end] -= plan::stored_bytes(graph.tensor(id));
  }
  Bytes live = 0;
  Bytes peak = 0;
  for (const Bytes bytes : change) peak = std::max(peak, live += bytes);
  return peak;
}

// Bytes of long-lived tensors that each interval uses and the one before it does not.
IdVector<int, Bytes> bytes_to_bring(const graph::Graph& graph, const graph::Liveness& liveness,
                                    const IntervalCut& cut) {
  IdVector<int, Bytes> bring(cut.intervals.size(), 0);
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (liveness.short_lived[id]) continue;
    int last = -2;
    for (const graph::Use& use : liveness.uses[id]) {
      const int interval = cut.interval_of_op[use.op];
      if (interval > last + 1) bring[interval] += plan::stored_bytes(graph.tensor(id));
      last = interval;
    }
  }
  return bring;
}

}  // namespace

IntervalCut cut_into_intervals(const graph::Liveness& liveness, int length) {
  IntervalCut cut{.length = length, .intervals = {}, .interval_of_op = {}};
  cut.interval_of_op.resize(liveness.span_of_op.size());
  const int spans = count_of(liveness.spans);
  for (int first = 0; first < spans; first += length) {
    const int last = std::min(first + length, spans) - 1;
    const Interval<graph::OpIndex> ops{liveness.spans[first].ops.begin, liveness.spans[last].ops.end};
    std::fill(cut.interval_of_op.begin() + ops.begin, cut.interval_of_op.begin() + ops.end, count_of(cut.intervals));
    cut.intervals.push_back(ops);
  }
  return cut;
}

IntervalEstimate estimate_intervals(const graph::Graph& graph, const graph::Liveness& liveness,
                                    const profile::CostModel& costs, const IntervalCut& cut, Bytes budget,
                                    BytesPerSecond inward_bandwidth) {
  IntervalEstimate estimate;
  const std::vector<Bytes> bring = bytes_to_bring(graph, liveness, cut);
  estimate.tensor_bytes = *std::max_element(bring.begin(), bring.end());
  estimate.room_bytes = budget - peak_short_lived(graph, liveness);
  // Equation 1: what an interval brings has to fit beside what is reserved.
  estimate.space_ok = estimate.tensor_bytes < estimate.room_bytes;
  // Equation 2 as printed, and what really sticks out of the intervals.
  Seconds shortest = 0;
  for (std::size_t i = 0; i < cut.intervals.size(); ++i) {
    Seconds seconds = 0;
    for (graph::OpIndex op = cut.intervals[i].begin; op < cut.intervals[i].end; ++op) seconds += costs.op_seconds(op);
    shortest = i == 0 ? seconds : std::min(shortest, seconds);
    estimate.exposed_seconds += std::max(0.0, static_cast<double>(bring[i]) / inward_bandwidth - seconds);
  }
  estimate.goal_seconds = static_cast<double>(estimate.room_bytes) / inward_bandwidth - shortest;
  return estimate;
}

}  // namespace sluice::planners
