#include "sluice/planners/feature_maps/swap_schedules.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/rooms.hpp"

namespace sluice::planners {
namespace {

bool covers(const Interval<graph::OpIndex>& ops, graph::OpIndex op) { return ops.begin <= op && op < ops.end; }

// The first op that is none of the forward pass.
graph::OpIndex turn_of(const graph::Graph& graph) {
  const auto found =
      std::ranges::find_if(graph.ops(), [](const graph::Op& op) { return op.phase != graph::Phase::kForward; });
  return as_id<graph::OpIndex>(found - graph.ops().begin());
}

}  // namespace

SwapSchedules::SwapSchedules(const PlanRequest& step, const graph::Liveness& liveness, const SlowTier& slow,
                             const std::vector<SwappedTensor>& tensors, SwapPace pace)
    : graph_(step.graph),
      liveness_(liveness),
      costs_(step.graph, step.profile, step.machine),
      slow_(slow),
      pace_(pace),
      turn_(turn_of(step.graph)),
      kept_(step.graph.ops().size(), 0) {
  Seconds clock = 0;
  for (graph::OpIndex op = 0; op < graph_.op_count(); ++op) ends_.push_back(clock += costs_.op_seconds(op));
  find_swaps(tensors);
  add_loads(tensors);
}

void SwapSchedules::find_swaps(const std::vector<SwappedTensor>& tensors) {
  std::vector<std::pair<graph::OpIndex, std::size_t>> order;  // by last use in the forward pass
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    stay_.push_back(always_fast(liveness_, tensors[i].id, false));
    const std::vector<graph::Use>& uses = liveness_.uses[tensors[i].id];
    const auto behind = std::ranges::find_if(uses, [&](const graph::Use& use) { return use.op >= turn_; });
    // An op that is repeated for another of its results makes this one again, too: then nobody reads the first one there.
    if (behind != uses.begin() && behind != uses.end()) order.emplace_back((behind - 1)->op, i);
  }
  std::ranges::sort(order);
  for (const auto& [op, i] : order) {
    Swap swap = swap_of(tensors[i]);
    swap.index = i;
    if (pace_ == SwapPace::kAsynchronous || swap.comes.ops.begin < swap.comes.here_by) swaps_.push_back(swap);
  }
}

// The op that runs then.
graph::OpIndex SwapSchedules::in_trigger(graph::OpIndex layer_before, Seconds ahead) const {
  if (ahead == 0 || layer_before == 0) return layer_before;
  const Seconds then = ends_[as_index(layer_before - 1)] - ahead;
  return as_id<graph::OpIndex>(std::ranges::upper_bound(ends_, then) - ends_.begin());
}

SwapSchedules::Swap SwapSchedules::swap_of(const SwappedTensor& tensor) {
  const graph::TensorId id = tensor.id;
  const std::vector<graph::Use>& uses = liveness_.uses[id];
  const auto first = std::ranges::find_if(uses, [&](const graph::Use& use) { return use.op >= turn_; });
  const graph::Use last = *(first - 1);
  const bool by_layer = pace_ == SwapPace::kByLayer;
  // By layer it leaves beside the op that reads it last, unless that op writes it, too.
  const graph::OpIndex gone = by_layer ? last.op + 1 : std::min(end_by_clock(id, last.op), first->op);
  FastPiece leaves{.ops = {liveness_.ranges[id].begin, gone},
                   .first_use = uses.front().op,
                   .last_use = last.op,
                   .evict_after = by_layer && !last.writes ? last.op - 1 : last.op,
                   .leaves = plan::Cause::kNotNeededSoon};
  const int reader = liveness_.span_of_op[first->op];
  const graph::OpIndex earliest = in_trigger(liveness_.spans[reader - 1].ops.begin, tensor.ahead);
  FastPiece comes{.ops = {std::max(earliest, leaves.ops.end), liveness_.ranges[id].end},
                  .first_use = first->op,
                  .last_use = uses.back().op,
                  .evict_after = uses.back().op,
                  .here_by = by_layer ? liveness_.spans[reader].ops.begin : 0,
                  .comes = plan::Cause::kAhead};
  return {.bytes = plan::stored_bytes(graph_.tensor(id)), .leaves = leaves, .comes = comes, .earliest = earliest};
}

graph::OpIndex SwapSchedules::end_by_clock(graph::TensorId id, graph::OpIndex last) {
  const Bytes bytes = plan::stored_bytes(graph_.tensor(id));
  out_until_ = std::max(out_until_, ends_[as_index(last)]) + costs_.transfer_seconds(slow_.outward, bytes);
  const auto done = as_id<graph::OpIndex>(std::ranges::lower_bound(ends_, out_until_) - ends_.begin());
  return std::clamp(done + 1, last + 1, graph_.op_count());
}

void SwapSchedules::add_loads(const std::vector<SwappedTensor>& tensors) {
  IdVector<graph::TensorId, bool> moves(graph_.tensors().size(), false);
  for (const Swap& each : swaps_) moves[tensors[each.index].id] = true;
  for (graph::TensorId id = 0; id < graph_.tensor_count(); ++id) {
    if (moves[id]) continue;
    const Bytes bytes = plan::room_for(graph_.tensor(id), memory::kFastTier, false).bytes;
    const Interval<graph::OpIndex> range = liveness_.ranges[id];
    for (graph::OpIndex op = range.begin; op < range.end; ++op) kept_[as_index(op)] += bytes;
  }
}

std::optional<std::vector<TensorSchedule>> SwapSchedules::within(Bytes capacity) const {
  std::vector<Swap> swaps = swaps_;
  for (graph::OpIndex op = 0; op < graph_.op_count(); ++op) {
    Bytes load = kept_[as_index(op)];
    for (const Swap& each : swaps) load += covers(each.leaves.ops, op) || covers(each.comes.ops, op) ? each.bytes : 0;
    for (Swap& each : swaps) {  // the front of the list first
      if (load <= capacity || pace_ == SwapPace::kByLayer) break;
      if (!covers(each.leaves.ops, op) || op <= each.leaves.last_use) continue;
      each.leaves.ops.end = op;
      each.comes.ops.begin = std::max(each.earliest, op + 1);
      load -= each.bytes;
    }
    for (Swap& each : swaps) {
      if (load <= capacity || pace_ == SwapPace::kByLayer) break;
      if (!covers(each.comes.ops, op) || op >= each.comes.first_use) continue;
      each.comes.ops.begin = op + 1;
      load -= each.bytes;
    }
    if (load > capacity) return std::nullopt;
  }
  std::vector<TensorSchedule> schedules = stay_;
  for (const Swap& each : swaps) {
    if (each.leaves.ops.end < each.comes.ops.begin) schedules[each.index] = {.pieces = {each.leaves, each.comes}};
  }
  return schedules;
}

}  // namespace sluice::planners
