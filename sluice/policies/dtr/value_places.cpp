#include "sluice/policies/dtr/value_places.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::policies {

ValuePlaces::ValuePlaces(const std::vector<StepValue>& values, Interval<Bytes> room)
    : values_(values), room_(room), offset_(values.size()), locks_(values.size(), 0), place_in_list_(values.size(), 0) {
  if (!room.empty()) heap_.free(room.begin, room.length());
}

Bytes ValuePlaces::size(ValueId value) const {
  return align_up(std::max<Bytes>(1, values_[position(value)].bytes), memory::BestFitHeap::kUnit);
}

std::optional<Bytes> ValuePlaces::allocate(ValueId value) {
  const std::optional<Bytes> offset = heap_.reuse(size(value));
  if (!offset) return std::nullopt;
  used_ += size(value);
  most_used_ = std::max(most_used_, used_);
  return offset;
}

void ValuePlaces::give_back(ValueId value, Bytes offset) {
  if (values_[position(value)].persistent) return;
  heap_.free(offset, size(value));
  used_ -= size(value);
}

void ValuePlaces::put(ValueId value, Bytes offset) {
  SLUICE_CHECK(!resident(value), "a value lies in one place");
  offset_[position(value)] = offset;
  if (!values_[position(value)].evictable) return;
  place_in_list_[position(value)] = evictable_.size();
  evictable_.push_back(value);
}

Bytes ValuePlaces::leave(ValueId value) {
  const Bytes offset = this->offset(value);
  offset_[position(value)].reset();
  if (values_[position(value)].evictable) {
    const ValueId last = evictable_.back();
    evictable_[place_in_list_[position(value)]] = last;
    place_in_list_[position(last)] = place_in_list_[position(value)];
    evictable_.pop_back();
  }
  return offset;
}

void ValuePlaces::move_together(const std::function<void(ValueId, Bytes, Bytes)>& move) {
  std::vector<ValueId> in_order;
  for (ValueId value = 0; value < as_id<ValueId>(values_.size()); ++value) {
    if (resident(value) && !values_[position(value)].persistent) in_order.push_back(value);
  }
  std::ranges::sort(in_order, {}, [&](ValueId value) { return offset(value); });
  Bytes end = room_.begin;
  for (const ValueId value : in_order) {
    if (offset(value) != end) move(value, offset(value), end);
    offset_[position(value)] = end;
    end += size(value);
  }
  heap_ = memory::BestFitHeap();
  if (end < room_.end) heap_.free(end, room_.end - end);
}

}  // namespace sluice::policies
