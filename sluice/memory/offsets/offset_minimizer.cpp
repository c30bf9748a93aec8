#include "sluice/memory/offsets/offset_minimizer.hpp"

#include <algorithm>

#include "sluice/memory/offsets/offset_search.hpp"

namespace sluice::memory {
namespace {

constexpr std::int64_t kFirstEffort = 100'000'000;  // about a third of a second a capacity

}  // namespace

OffsetAssignment minimize_offsets(std::span<const OffsetItem> items, const std::function<bool()>& stop) {
  OffsetAssignment best = assign_offsets(items);
  const auto stopped = [&] { return stop && stop(); };
  for (std::int64_t effort = kFirstEffort; best.height > best.lower_bound && !stopped(); effort *= 4) {
    Bytes hopeless = best.lower_bound - 1;  // in this round
    for (Bytes capacity = best.lower_bound; capacity < best.height && !stopped();
         capacity = hopeless + 1 + (best.height - hopeless - 1) / 2) {
      SearchResult result = search_offsets(items, capacity, {effort, stop});
      if (result.verdict == SearchVerdict::kFound) {
        best.height = height_of(items, result.offsets);
        best.offsets = std::move(result.offsets);
        continue;
      }
      hopeless = capacity;
      if (result.verdict == SearchVerdict::kImpossible) best.lower_bound = capacity + 1;
    }
  }
  return best;
}

}  // namespace sluice::memory
