#include "sluice/planners/swapadvisor/swap_decoder.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/swapadvisor/swap_times.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::planners {

SwapDecoder::SwapDecoder(const PlanRequest& request, const SlowTier& slow)
    : graph_(request.graph), liveness_(graph::analyze_liveness(request.graph)) {
  const profile::CostModel costs(request.graph, request.profile, request.machine);
  for (graph::OpIndex op = 0; op < graph_.op_count(); ++op) {
    operands_.push_back(graph::distinct_operands(graph_.op(op)));
    op_seconds_.push_back(costs.op_seconds(op));
  }
  compute_seconds_ = costs.compute_seconds();
  for (const graph::Tensor& tensor : graph_.tensors()) {
    const Bytes bytes = plan::stored_bytes(tensor);
    out_seconds_.push_back(costs.transfer_seconds(slow.outward, bytes));
    in_seconds_.push_back(costs.transfer_seconds(slow.inward, bytes));
    sizes_.push_back(bytes);
  }
  std::ranges::sort(sizes_);
  sizes_.erase(std::ranges::unique(sizes_).begin(), sizes_.end());
  for (const graph::Tensor& tensor : graph_.tensors()) {
    const auto size = std::ranges::lower_bound(sizes_, plan::stored_bytes(tensor));
    size_of_.push_back(as_index(size - sizes_.begin()));
  }
}

graph::Liveness SwapDecoder::liveness_in(std::span<const graph::OpIndex> order) const {
  std::vector<graph::OpIndex> slot(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) slot[as_index(order[i])] = as_id<graph::OpIndex>(i);
  graph::Liveness liveness;
  liveness.uses = liveness_.uses;
  liveness.ranges = liveness_.ranges;
  for (graph::TensorId id = 0; id < graph_.tensor_count(); ++id) {
    std::vector<graph::Use>& uses = liveness.uses[id];
    for (graph::Use& use : uses) use.op = slot[as_index(use.op)];
    std::ranges::sort(uses, {}, &graph::Use::op);
    if (uses.empty() || graph::is_persistent(graph_.tensor(id).role)) continue;
    const bool output = graph_.tensor(id).role == graph::Role::kOutput;
    liveness.ranges[id] = {uses.front().op, output ? graph_.op_count() : uses.back().op + 1};
  }
  return liveness;
}

IdVector<graph::TensorId, int> SwapDecoder::classes_of(std::span<const char> begins) const {
  std::vector<int> of_size(begins.size(), 0);
  for (std::size_t i = 1; i < begins.size(); ++i) of_size[i] = of_size[i - 1] + (begins[i] != 0 ? 1 : 0);
  IdVector<graph::TensorId, int> classes;
  for (const std::size_t size : size_of_) classes.push_back(of_size[size]);
  return classes;
}

std::optional<DecodedSwaps> SwapDecoder::decode(std::span<const graph::OpIndex> order, std::span<const char> begins,
                                                Bytes capacity) const {
  const graph::Liveness liveness = liveness_in(order);
  PagedOps ops{graph_, liveness, {}};
  SwapTimes times{{}, out_seconds_, in_seconds_};
  for (const graph::OpIndex op : order) {
    ops.operands.emplace_back(operands_[op]);
    times.op.push_back(op_seconds_[op]);
  }
  const auto needed_last = [&](graph::TensorId id, graph::OpIndex touched) -> std::int64_t {
    const std::vector<graph::Use>& uses = liveness.uses[id];
    const auto next = std::ranges::upper_bound(uses, touched, {}, &graph::Use::op);
    return next != uses.end() ? -next->op : -(graph_.op_count() + uses.front().op);
  };
  const PagingRule rule{.rank = needed_last, .class_of = classes_of(begins), .leaves = plan::Cause::kNeededLast};
  auto schedules = schedule_paged(ops, capacity, rule);
  if (!schedules) return std::nullopt;
  DecodedSwaps decoded{.schedules = std::move(*schedules)};
  decoded.seconds = spread_swaps(ops, times, capacity, decoded.schedules);
  return decoded;
}

}  // namespace sluice::planners
