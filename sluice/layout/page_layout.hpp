// Where each tensor of a step lies in virtual memory. It shows which tensors share a page, and what a system that sees
// only pages makes of them (Sentinel §III-B, observation 3).
//
// A tensor has one offset for all of its live range; tensors that are never live together may lie on the same bytes.
#pragma once

#include <vector>

#include "sluice/base/id_vector.hpp"
#include "sluice/graph/liveness.hpp"

namespace sluice::layout {

inline constexpr Bytes kUnplaced = -1;

struct PageLayout {
  IdVector<graph::TensorId, Bytes> offsets;  // kUnplaced: no bytes, or no op uses it
  Bytes bytes = 0;                           // one past the highest byte of any tensor
};

// The layout by a framework's allocator that knows neither lifetimes nor layers (TensorFlow's BFC in spirit):
//   - persistent tensors first, by TensorId, one after the other: they are allocated before training;
//   - then op by op: what the op uses first is allocated, in operand order, inputs first; what it uses last is freed
//     after it;
//   - ranges come from a best-fit heap in units of 64 bytes (best_fit_heap.hpp).
// So small and large, short- and long-lived tensors are mixed on pages. O(n log n) in tensors. Thread-safe.
PageLayout allocation_order_layout(const graph::Graph& graph, const graph::Liveness& liveness);

// The pages a tensor touches: [first, one past last). Empty when it is not placed.
Interval<std::int64_t> pages_of(const PageLayout& layout, const graph::Graph& graph, graph::TensorId tensor,
                                Bytes page_bytes);

// Pages of the whole layout.
std::int64_t page_count(const PageLayout& layout, Bytes page_bytes);

}  // namespace sluice::layout
