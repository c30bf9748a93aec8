#include "sluice/memory/offset_minimizer.hpp"

#include <algorithm>

#include "sluice/memory/offset_search.hpp"

namespace sluice {
namespace {

constexpr std::int64_t kFirstEffort = 100'000'000;  // about a third of a second a capacity

Bytes height_of(std::span<const OffsetItem> items, std::span<const Bytes> offsets) {
  Bytes height = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].live.empty()) height = std::max(height, offsets[i] + align_up(items[i].bytes, items[i].alignment));
  }
  return height;
}

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

}  // namespace sluice
