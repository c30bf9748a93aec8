// A *simulated* system that moves pages, not tensors, between fast and slow memory. It shows the cost of pages shared
// by tensors of different lives (Sentinel §III-B, observation 3).
//
//   - A page is in one tier. An op needs every page of its operands in fast memory: a page in slow memory that holds
//     data is moved in; one that holds none is new, and nothing moves.
//   - After each layer span (Sentinel's interval, of one layer), a page that no op of the next span touches leaves fast
//     memory, and is moved out if it holds data.
//   - When fast memory is full, the page touched longest ago that the op does not need is moved out.
// Which pages hold data? A kernel under a framework's allocator cannot tell (FreedData::kUnknown): the allocator keeps
// what was freed for itself, so a page holds data from its first touch on. A system that is told of every freed range
// (kKnown) gives a page up for nothing, but only when all of the page is dead: one live tensor, however little of the
// page it has, is enough to have the page moved.
//
// Persistent tensors are live between steps. Bytes are those of a step in steady state (the second one). Cost: linear
// in pages touched by ops; 2 GiB of tensors in 4 KiB pages take about 0.1 s. Thread-safe.
#pragma once

#include <span>

#include "sluice/base/result.hpp"
#include "sluice/layout/page_layout.hpp"
#include "sluice/profile/access_profile.hpp"

namespace sluice::layout {

struct PageTraffic {
  Bytes in = 0;   // slow to fast, a step
  Bytes out = 0;  // fast to slow
  Bytes total() const { return in + out; }
  bool operator==(const PageTraffic&) const = default;
};

enum class FreedData { kUnknown, kKnown };

struct PageSystem {
  Bytes fast_budget = 0;
  Bytes page_bytes = profile::kPageBytes;
  FreedData freed = FreedData::kKnown;
};

// kInfeasible, naming op and bytes, when the pages of one op's operands exceed the fast budget.
Result<PageTraffic> simulate_page_migration(const graph::Graph& graph, const graph::Liveness& liveness,
                                            const PageLayout& layout, const PageSystem& system);

// The same step in three ways. The difference between the first two is what it is worth to know which data are dead.
// The difference between the last two is what it is worth, beyond that, not to mix lives on a page. Reorganisation
// brings both: pages of a block die together, and the runtime that makes the blocks knows when.
struct PageMigrationComparison {
  PageTraffic allocation_order;  // where a framework's allocator puts tensors; freed data unknown
  PageTraffic freed_known;       // the same places; every freed range known
  PageTraffic reorganized;       // in blocks (reorganize.hpp); freed blocks known
};

// `accesses` by TensorId, or empty (reorganize.hpp). page_bytes: a multiple of 4 KiB. Errors as above.
Result<PageMigrationComparison> compare_page_migration(const graph::Graph& graph, const graph::Liveness& liveness,
                                                       std::span<const profile::TensorAccesses> accesses,
                                                       Bytes fast_budget, Bytes page_bytes = profile::kPageBytes);

}  // namespace sluice::layout
