#include "sluice/layout/page_layout.hpp"

#include "sluice/memory/allocators/best_fit_heap.hpp"

namespace sluice::layout {
PageLayout allocation_order_layout(const graph::Graph& graph, const graph::Liveness& liveness) {
  PageLayout layout{.offsets = std::vector<Bytes>(graph.tensors().size(), kUnplaced)};
  memory::BestFitHeap heap;
  const auto size = [&](graph::TensorId id) { return graph.tensor(id).bytes; };
  const auto range = [&](graph::TensorId id) { return liveness.ranges[id]; };
  const auto place = [&](graph::TensorId id) {
    if (size(id) > 0) layout.offsets[id] = heap.allocate(size(id));
  };
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (graph::is_persistent(graph.tensor(id).role)) place(id);
  }
  for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
    const std::vector<graph::TensorId> operands = graph::distinct_operands(graph.op(op));
    for (const graph::TensorId id : operands) {
      if (!graph::is_persistent(graph.tensor(id).role) && range(id).begin == op) place(id);
    }
    for (const graph::TensorId id : operands) {
      const Bytes offset = layout.offsets[id];
      if (!graph::is_persistent(graph.tensor(id).role) && range(id).end == op + 1 && offset >= 0)
        heap.free(offset, size(id));
    }
  }
  layout.bytes = heap.end();
  return layout;
}

Interval<std::int64_t> pages_of(const PageLayout& layout, const graph::Graph& graph, graph::TensorId tensor,
                                Bytes page_bytes) {
  const Bytes offset = layout.offsets[tensor];
  if (offset < 0) return {};
  return {offset / page_bytes, align_up(offset + graph.tensor(tensor).bytes, page_bytes) / page_bytes};
}

std::int64_t page_count(const PageLayout& layout, Bytes page_bytes) {
  return align_up(layout.bytes, page_bytes) / page_bytes;
}

}  // namespace sluice::layout
