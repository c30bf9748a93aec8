#include "sluice/profile/network_times.hpp"

#include "sluice/base/as_index.hpp"
#include "sluice/graph/op_traits.hpp"

namespace sluice {
namespace {

void add_seconds(const Graph& graph, BytesPerSecond bandwidth, IdVector<OpIndex, Seconds>& seconds) {
  if (seconds.empty()) return;
  for (OpIndex op = 0; op < graph.op_count(); ++op) {
    seconds[op] += static_cast<double>(bytes_to_ranks(graph, graph.op(op))) / bandwidth;
  }
}

}  // namespace

Bytes bytes_to_ranks(const Graph& graph, const Op& op) {
  if (op.kind != OpKind::kReduceScatter && op.kind != OpKind::kAllGather) return 0;
  const Tensor& whole = graph.tensor(op.kind == OpKind::kReduceScatter ? op.inputs[0] : op.outputs[0]);
  const Bytes bytes = element_count(whole.shape) * size_of(whole.dtype);
  return bytes * (op.attributes.size - 1) / op.attributes.size;
}

Bytes bytes_to_ranks(const Graph& graph) {
  Bytes bytes = 0;
  for (const Op& op : graph.ops()) bytes += bytes_to_ranks(graph, op);
  return bytes;
}

void add_network_seconds(const Graph& graph, BytesPerSecond bandwidth, Profile& profile) {
  add_seconds(graph, bandwidth, profile.op_seconds);
  add_seconds(graph, bandwidth, profile.cold_seconds);
  for (auto& [choice, times] : profile.choices) {
    OpTimes slower = *times;
    add_seconds(graph, bandwidth, slower.warm);
    add_seconds(graph, bandwidth, slower.cold);
    times = std::make_shared<const OpTimes>(std::move(slower));
  }
}

}  // namespace sluice
