#include "sluice/offload/free_ranges.hpp"

#include <iterator>

#include "sluice/base/check.hpp"

namespace sluice {

FreeRanges::FreeRanges(Bytes capacity) : free_bytes_(capacity) {
  if (capacity > 0) ranges_.emplace(0, capacity);
}

std::optional<Bytes> FreeRanges::take(Bytes bytes) {
  for (auto range = ranges_.begin(); range != ranges_.end(); ++range) {
    const auto [begin, end] = *range;
    if (end - begin < bytes) continue;
    ranges_.erase(range);
    if (begin + bytes < end) ranges_.emplace(begin + bytes, end);
    free_bytes_ -= bytes;
    return begin;
  }
  return std::nullopt;
}

void FreeRanges::give(Interval<Bytes> range) {
  if (range.empty()) return;
  free_bytes_ += range.length();
  const auto next = ranges_.lower_bound(range.begin);
  SLUICE_CHECK(next == ranges_.end() || next->first >= range.end, "a range is given back once");
  if (next != ranges_.begin()) {
    const auto before = std::prev(next);
    SLUICE_CHECK(before->second <= range.begin, "a range is given back once");
    if (before->second == range.begin) {
      range.begin = before->first;
      ranges_.erase(before);
    }
  }
  if (next != ranges_.end() && next->first == range.end) {
    range.end = next->second;
    ranges_.erase(next);
  }
  ranges_.emplace(range.begin, range.end);
}

}  // namespace sluice
