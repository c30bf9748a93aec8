#include "sluice/layout/page_layout.hpp"

#include <map>
#include <set>

#include "sluice/base/check.hpp"

namespace sluice {
namespace {

constexpr Bytes kAllocationUnit = 64;

// Freed ranges by offset and by size; everything from `end_` on is unused.
class BestFitHeap {
 public:
  Bytes allocate(Bytes bytes) {
    const auto tightest = by_size_.lower_bound({bytes, 0});
    if (tightest == by_size_.end()) return grow(bytes);
    const auto [size, offset] = *tightest;
    remove(offset, size);
    if (size > bytes) add(offset + bytes, size - bytes);
    return offset;
  }

  void free(Bytes offset, Bytes bytes) {
    const auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto [before, size] = *std::prev(next);
      if (before + size == offset) {
        remove(before, size);
        offset = before;
        bytes += size;
      }
    }
    const auto behind = by_offset_.find(offset + bytes);
    if (behind != by_offset_.end()) {
      const auto [after, size] = *behind;
      remove(after, size);
      bytes += size;
    }
    add(offset, bytes);
  }

  Bytes end() const { return end_; }

 private:
  Bytes grow(Bytes bytes) {
    Bytes offset = end_;
    if (!by_offset_.empty()) {
      const auto [last, size] = *by_offset_.rbegin();
      if (last + size == end_) {
        remove(last, size);
        offset = last;
      }
    }
    end_ = offset + bytes;
    return offset;
  }

  void add(Bytes offset, Bytes bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }

  void remove(Bytes offset, Bytes bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }

  std::map<Bytes, Bytes> by_offset_;           // to size
  std::set<std::pair<Bytes, Bytes>> by_size_;  // size, offset
  Bytes end_ = 0;
};

}  // namespace

PageLayout allocation_order_layout(const Graph& graph, const Liveness& liveness) {
  PageLayout layout{.offsets = std::vector<Bytes>(graph.tensors().size(), kUnplaced)};
  BestFitHeap heap;
  const auto size = [&](TensorId id) { return align_up(graph.tensor(id).bytes, kAllocationUnit); };
  const auto range = [&](TensorId id) { return liveness.ranges[static_cast<std::size_t>(id)]; };
  const auto place = [&](TensorId id) {
    if (size(id) > 0) layout.offsets[static_cast<std::size_t>(id)] = heap.allocate(size(id));
  };
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (is_persistent(graph.tensor(id).role)) place(id);
  }
  for (OpIndex op = 0; op < graph.op_count(); ++op) {
    const std::vector<TensorId> operands = distinct_operands(graph.op(op));
    for (const TensorId id : operands) {
      if (!is_persistent(graph.tensor(id).role) && range(id).begin == op) place(id);
    }
    for (const TensorId id : operands) {
      const Bytes offset = layout.offsets[static_cast<std::size_t>(id)];
      if (!is_persistent(graph.tensor(id).role) && range(id).end == op + 1 && offset >= 0) heap.free(offset, size(id));
    }
  }
  layout.bytes = heap.end();
  return layout;
}

Interval<std::int64_t> pages_of(const PageLayout& layout, const Graph& graph, TensorId tensor, Bytes page_bytes) {
  const Bytes offset = layout.offsets[static_cast<std::size_t>(tensor)];
  if (offset < 0) return {};
  return {offset / page_bytes, align_up(offset + graph.tensor(tensor).bytes, page_bytes) / page_bytes};
}

std::int64_t page_count(const PageLayout& layout, Bytes page_bytes) {
  return align_up(layout.bytes, page_bytes) / page_bytes;
}

}  // namespace sluice
