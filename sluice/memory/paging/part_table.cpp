#include "sluice/memory/paging/part_table.hpp"

#include <algorithm>

namespace sluice::memory {

void LastTouched::touch(PartId id) {
  if (holds(id)) order_.erase(std::ranges::find(order_, id));
  order_.push_back(id);
  among_[as_index(id)] = true;
}

std::optional<PartId> LastTouched::take_surplus() {
  if (order_.size() <= most_) return std::nullopt;
  const PartId oldest = order_.front();
  order_.pop_front();
  among_[as_index(oldest)] = false;
  return oldest;
}

PartTable::PartTable(std::size_t parts)
    : parts_(parts), history_(parts, 16 * parts + 1024), next_use_(parts, kNotForeseen) {}

void PartTable::use(PartId id) {
  history_.used(id);
  parts_[as_index(id)].newest = ++uses_;
}

void PartTable::foresee() {
  if (foreseen_at_ == uses_) return;
  foreseen_at_ = uses_;
  std::ranges::fill(next_use_, kNotForeseen);
  for (std::size_t ahead = 0; ahead < horizon_; ++ahead) {
    const std::optional<PartId> next = history_.next(ahead);
    if (!next) return;
    next_use_[as_index(*next)] = std::min(next_use_[as_index(*next)], ahead);
  }
}

std::size_t PartTable::next_use(PartId id) {
  foresee();
  return next_use_[as_index(id)];
}

bool PartTable::leaves_before(PartId one, PartId other) const {
  const std::size_t of_one = next_use_[as_index(one)], of_other = next_use_[as_index(other)];
  return of_one != of_other ? of_one > of_other : parts_[as_index(one)].newest < parts_[as_index(other)].newest;
}

// Belady's rule, by what is foreseen: who is used last of all goes first.
std::optional<PartId> PartTable::leaves_first(std::size_t ahead, bool dirty, const LastTouched& kept) {
  foresee();
  std::optional<PartId> first;
  for (std::size_t index = 0; index < parts_.size(); ++index) {
    const auto id = static_cast<PartId>(index);
    const bool later = next_use_[index] == kNotForeseen || next_use_[index] > ahead;
    if (!later || !parts_[index].may_leave() || parts_[index].dirty != dirty || kept.holds(id)) continue;
    if (!first || leaves_before(id, *first)) first = id;
  }
  return first;
}

}  // namespace sluice::memory
