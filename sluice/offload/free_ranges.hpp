// Which ranges of an address space are free: the lowest that is large enough is taken, neighbours are joined again.
// For ranges whose lifetimes are not known beforehand; where they are, memory/offsets packs better.
#pragma once

#include <map>
#include <optional>

#include "sluice/base/interval.hpp"
#include "sluice/base/units.hpp"

namespace sluice {

class FreeRanges {
 public:
  explicit FreeRanges(Bytes capacity);

  std::optional<Bytes> take(Bytes bytes);  // where it begins; nothing where no range is large enough
  void give(Interval<Bytes> range);        // that was taken
  Bytes free_bytes() const { return free_bytes_; }

 private:
  std::map<Bytes, Bytes> ranges_;  // end by begin
  Bytes free_bytes_ = 0;
};

}  // namespace sluice
