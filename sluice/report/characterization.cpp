#include "sluice/report/characterization.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::report {
namespace {

bool is_used(const graph::Liveness& liveness, graph::TensorId id) { return !liveness.uses[as_index(id)].empty(); }

// Of the tensors that `counts` accepts; 0 for the others.
template <typename Counts>
std::vector<Bytes> bytes_of(const graph::Graph& graph, const Counts& counts) {
  std::vector<Bytes> bytes;
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id)
    bytes.push_back(counts(id) ? graph.tensor(id).bytes : 0);
  return bytes;
}

int span_of(const graph::Liveness& liveness, graph::OpIndex op) { return liveness.span_of_op[as_index(op)]; }

int layers_of(const graph::Liveness& liveness) { return count_of(liveness.spans); }

int lifetime(const graph::Liveness& liveness, graph::TensorId id) {
  const Interval<graph::OpIndex> range = liveness.ranges[as_index(id)];
  return span_of(liveness, range.end - 1) - span_of(liveness, range.begin) + 1;
}

template <typename Rows>
auto& row_of(Rows& rows, int layers) {
  const auto row = std::ranges::find_if(rows, [&](const auto& each) { return each.bucket.layers.contains(layers); });
  SLUICE_CHECK(row != rows.end(), "a range for every lifetime and distance");
  return *row;
}

// What the profile counted of one op's use of a tensor.
std::int64_t accesses_of_use(const profile::AccessProfile* profile, graph::OpIndex op, graph::TensorId tensor) {
  if (profile == nullptr) return 0;
  const auto& operands = profile->ops.at(as_index(op));
  const auto touches = std::ranges::find(operands, tensor, &profile::TensorTouches::tensor);
  return touches == operands.end() ? 0 : touches->reads + touches->writes;
}

}  // namespace

void TensorGroup::add(Bytes tensor_bytes) {
  ++tensors;
  bytes += tensor_bytes;
}

void BySize::add(Bytes tensor_bytes) { (tensor_bytes < profile::kPageBytes ? small : large).add(tensor_bytes); }

std::vector<LayerBucket> layer_buckets(int layers) {
  constexpr int kLayersOfReDL = 64;
  std::vector<LayerBucket> buckets;
  int first = 1;
  for (const int bound : {1, 8, 24, 40, 56, kLayersOfReDL}) {
    const int last = bound == 1 ? 1 : (bound * layers + kLayersOfReDL / 2) / kLayersOfReDL;
    if (last < first) continue;
    buckets.push_back(
        {first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last), {first, last + 1}});
    first = last + 1;
  }
  return buckets;
}

Lifetimes measure_lifetimes(const graph::Graph& graph, const graph::Liveness& liveness) {
  Lifetimes lifetimes;
  const int layers = layers_of(liveness);
  for (const LayerBucket& bucket : layer_buckets(layers)) lifetimes.rows.push_back({bucket, {}});
  lifetimes.rows.push_back({{fmt::format(">{}", layers), {layers + 1, layers + 2}}, {}});
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (!is_used(liveness, id)) continue;
    const Bytes bytes = graph.tensor(id).bytes;
    const bool persistent = graph::is_persistent(graph.tensor(id).role);
    (liveness.short_lived[as_index(id)] ? lifetimes.short_lived : lifetimes.long_lived).add(bytes);
    if (persistent) lifetimes.persistent.add(bytes);
    row_of(lifetimes.rows, persistent ? layers + 1 : lifetime(liveness, id)).tensors.add(bytes);
  }
  return lifetimes;
}

Distances measure_distances(const graph::Graph& graph, const graph::Liveness& liveness,
                            const profile::AccessProfile* accesses) {
  Distances distances;
  const int layers = layers_of(liveness);
  distances.rows.push_back({{"0", {0, 1}}});
  for (const LayerBucket& bucket : layer_buckets(layers)) distances.rows.push_back({bucket});
  distances.first_uses.bucket.name = "first use";
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    const std::vector<graph::Use>& uses = liveness.uses[as_index(id)];
    const bool persistent = graph::is_persistent(graph.tensor(id).role);
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const bool follows = i > 0 || persistent;
      const int before = span_of(liveness, i > 0 ? uses[i - 1].op : uses.back().op) - (i > 0 ? 0 : layers);
      const int distance = span_of(liveness, uses[i].op) - before;
      Distances::Row& row = follows ? row_of(distances.rows, distance) : distances.first_uses;
      ++row.uses;
      row.bytes += graph.tensor(id).bytes;
      row.accesses += accesses_of_use(accesses, uses[i].op, id);
    }
  }
  return distances;
}

LiveBytes measure_live_bytes(const graph::Graph& graph, const graph::Liveness& liveness) {
  const auto persistent = [&](graph::TensorId id) {
    return is_used(liveness, id) && is_persistent(graph.tensor(id).role);
  };
  const auto is_short = [&](graph::TensorId id) { return bool{liveness.short_lived[as_index(id)]}; };
  const auto is_long = [&](graph::TensorId id) {
    return !graph::is_persistent(graph.tensor(id).role) && !is_short(id);
  };
  LiveBytes live{.persistent = graph::live_bytes(liveness, bytes_of(graph, persistent)),
                 .long_lived = graph::live_bytes(liveness, bytes_of(graph, is_long)),
                 .short_lived = graph::live_bytes(liveness, bytes_of(graph, is_short))};
  for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
    const auto at = as_index(op);
    const Bytes all = live.persistent[at] + live.long_lived[at] + live.short_lived[at];
    if (all > live.peak) live.peak_op = op;
    live.peak = std::max(live.peak, all);
  }
  return live;
}

Characterization characterize(const graph::Graph& graph, const graph::Liveness& liveness,
                              const profile::AccessProfile* accesses) {
  Characterization found{.layers = layers_of(liveness)};
  found.lifetimes = measure_lifetimes(graph, liveness);
  found.distances = measure_distances(graph, liveness, accesses);
  found.live = measure_live_bytes(graph, liveness);
  found.bound = graph::measure_bound(graph, liveness);
  if (accesses == nullptr) return found;
  const std::vector<profile::TensorAccesses> counts = profile::accesses_by_tensor(graph, *accesses);
  found.heat = measure_heat(graph, liveness, counts);
  found.false_sharing =
      measure_false_sharing(graph, liveness, layout::allocation_order_layout(graph, liveness), counts);
  return found;
}

}  // namespace sluice::report
