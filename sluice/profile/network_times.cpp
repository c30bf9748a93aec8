#include "sluice/profile/network_times.hpp"

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"

namespace sluice::profile {
namespace {

void add_seconds(const graph::Graph& graph, BytesPerSecond bandwidth, IdVector<graph::OpIndex, Seconds>& seconds) {
  if (seconds.empty()) return;
  for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
    seconds[op] += static_cast<double>(bytes_to_ranks(graph, graph.op(op))) / bandwidth;
  }
}

}  // namespace

Bytes bytes_to_ranks(const graph::Graph& graph, const graph::Op& op) {
  if (op.kind != graph::OpKind::kReduceScatter && op.kind != graph::OpKind::kAllGather) return 0;
  const graph::Tensor& whole = graph.tensor(op.kind == graph::OpKind::kReduceScatter ? op.inputs[0] : op.outputs[0]);
  const Bytes bytes = graph::element_count(whole.shape) * size_of(whole.dtype);
  const std::int64_t ranks = op.as<graph::RanksAttributes>().ranks;
  return bytes * (ranks - 1) / ranks;
}

Bytes bytes_to_ranks(const graph::Graph& graph) {
  Bytes bytes = 0;
  for (const graph::Op& op : graph.ops()) bytes += bytes_to_ranks(graph, op);
  return bytes;
}

void add_network_seconds(const graph::Graph& graph, BytesPerSecond bandwidth, Profile& profile) {
  add_seconds(graph, bandwidth, profile.op_seconds);
  add_seconds(graph, bandwidth, profile.cold_seconds);
  for (auto& [choice, times] : profile.choices) {
    OpTimes slower = *times;
    add_seconds(graph, bandwidth, slower.warm);
    add_seconds(graph, bandwidth, slower.cold);
    times = std::make_shared<const OpTimes>(std::move(slower));
  }
}

}  // namespace sluice::profile
