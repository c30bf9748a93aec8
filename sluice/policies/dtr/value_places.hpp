// Where the values of a running step lie: rooms of a best-fit heap in the budget, and which of them may be evicted now.
//
// Persistent values lie outside the heap, in places that stay. A locked value is in use by an op that runs or waits.
// Not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/allocators/best_fit_heap.hpp"
#include "sluice/policies/dtr/step_values.hpp"

namespace sluice::policies {

class ValuePlaces {
 public:
  // `room`: of the heap.
  ValuePlaces(const std::vector<StepValue>& values, Interval<Bytes> room);

  bool resident(ValueId value) const { return offset_[position(value)].has_value(); }
  Bytes offset(ValueId value) const { return *offset_[position(value)]; }

  // Room of a value's size that belongs to nobody yet; nothing where no hole is large enough.
  std::optional<Bytes> allocate(ValueId value);
  void give_back(ValueId value, Bytes offset);

  // The value lies there from now on: in room allocated for it, or left by leave().
  void put(ValueId value, Bytes offset);
  // It no longer lies anywhere; its room is whoever's that takes it.
  Bytes leave(ValueId value);
  void remove(ValueId value) { give_back(value, leave(value)); }

  void lock(ValueId value) { ++locks_[position(value)]; }
  void unlock(ValueId value) { --locks_[position(value)]; }
  int locks(ValueId value) const { return locks_[position(value)]; }

  // Resident, and of the kind that may be evicted; some may be locked.
  const std::vector<ValueId>& evictable() const { return evictable_; }

  // Whether the bytes are there, if perhaps not in one piece.
  bool has_bytes_for(ValueId value) const { return size(value) <= free(); }
  // Moves everything to the low end, in the order in which it lies; what is free is one piece then. `move` is told which
  // value goes from where to where.
  void move_together(const std::function<void(ValueId, Bytes, Bytes)>& move);

  Bytes used() const { return used_; }  // of the heap
  Bytes most_used() const { return most_used_; }
  Bytes free() const { return room_.length() - used_; }
  Bytes largest_hole() const { return heap_.largest_freed(); }

 private:
  static std::size_t position(ValueId value) { return as_index(value); }
  Bytes size(ValueId value) const;

  const std::vector<StepValue>& values_;
  Interval<Bytes> room_;
  memory::BestFitHeap heap_;
  Bytes used_ = 0;
  Bytes most_used_ = 0;
  std::vector<std::optional<Bytes>> offset_;  // by value
  std::vector<int> locks_;                    // by value
  std::vector<ValueId> evictable_;
  std::vector<std::size_t> place_in_list_;  // by value: in evictable_
};

}  // namespace sluice::policies
