// Which ranges of an address space are free: the lowest that is large enough is taken, neighbours are joined again.
// For ranges whose lifetimes are not known beforehand; where they are, memory/offsets packs better.
#pragma once

#include <map>
#include <optional>

#include "sluice/base/interval.hpp"
#include "sluice/base/units.hpp"

namespace sluice::memory {

class FreeRanges {
 public:
  FreeRanges() = default;  // none
  explicit FreeRanges(Bytes capacity) { give({0, capacity}); }

  std::optional<Bytes> take(Bytes bytes);  // where it begins; nothing where no range is large enough
  void take(Interval<Bytes> part);         // of a free range
  void give(Interval<Bytes> range);        // that was taken
  Bytes free_bytes() const { return free_bytes_; }
  Bytes free_from(Bytes begin) const;  // bytes of the range that begins there; 0: none does
  const std::map<Bytes, Bytes>& ranges() const { return ranges_; }  // end by begin

  // The longest part of a range that begins and ends with multiples of `unit`. Linear in the ranges.
  std::optional<Interval<Bytes>> largest_within(Bytes unit) const;
  Bytes free_within(Bytes unit) const;  // bytes of all such parts. Linear in the ranges

 private:
  using Range = std::map<Bytes, Bytes>::iterator;
  void cut(Range range, Interval<Bytes> part);

  std::map<Bytes, Bytes> ranges_;
  Bytes free_bytes_ = 0;
};

}  // namespace sluice::memory
