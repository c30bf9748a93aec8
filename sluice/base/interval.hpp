// Half-open interval [begin, end): the one convention for op ranges, byte ranges and times.
#pragma once

#include <algorithm>
#include <compare>

namespace sluice {

template <typename T>
struct Interval {
  T begin{};
  T end{};

  T length() const { return end - begin; }
  bool empty() const { return end <= begin; }
  bool contains(T point) const { return begin <= point && point < end; }
  bool overlaps(const Interval& other) const { return begin < other.end && other.begin < end; }
  auto operator<=>(const Interval&) const = default;  // NOLINT(modernize-use-nullptr): false alarm of clang-tidy 14
};

}  // namespace sluice
