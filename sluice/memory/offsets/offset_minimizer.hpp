// The lowest height that a search finds for offsets, and what it could prove of it.
//
// The portfolio of assign_offsets() gives a height at once, max-live bytes a bound. Between them capacities are
// searched (offset_search.hpp): first the bound itself, which often holds, then by halves. A capacity that is proven
// impossible raises the bound; one at which the search loses patience counts as impossible for that round only. Rounds
// are repeated with four times the patience until height and bound meet or `stop` says so.
#pragma once

#include <functional>

#include "sluice/memory/offsets/offset_allocator.hpp"

namespace sluice::memory {

// `lower_bound` of the result is the proven one. `stop` is asked about once a millisecond; it may be empty, and then
// hard problems do not end.
OffsetAssignment minimize_offsets(std::span<const OffsetItem> items, const std::function<bool()>& stop);

}  // namespace sluice::memory
