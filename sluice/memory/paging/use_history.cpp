#include "sluice/memory/paging/use_history.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::memory {

void UseHistory::used(Object object) {
  const bool repeated = last_use_[as_index(object)] >= std::max(first(), end_ - static_cast<std::int64_t>(nearby_));
  ++foreseen_in_a_row_;
  if (!cross_out(object) && (!repeated || behind_ == kNever)) {
    ++unforeseen_;
    foreseen_in_a_row_ = 0;
    expected_.clear();
    const std::int64_t like_this = seek(object);
    behind_ = like_this == kNever ? kNever : like_this + 1;
  }
  uses_.push_back(object);
  last_use_[as_index(object)] = end_++;
  forget_old();
  expect_more();
}

bool UseHistory::cross_out(Object object) {
  const auto found = std::ranges::find(expected_, object, [this](std::int64_t number) { return at(number); });
  if (found == expected_.end()) return false;
  const std::int64_t number = *found;
  expected_.erase(found);
  while (!expected_.empty() && 2 * (number - expected_.front()) > static_cast<std::int64_t>(nearby_))
    expected_.pop_front();
  return true;
}

void UseHistory::expect_more() {
  while (behind_ != kNever && behind_ < end_ && expected_.size() < nearby_) expected_.push_back(behind_++);
}

std::int64_t UseHistory::seek(Object object) const {
  const std::int64_t last = last_use_[as_index(object)];
  if (last < first()) return kNever;
  const Object before = uses_.back();
  for (std::int64_t there = last; there > first(); --there) {
    if (at(there) == object && at(there - 1) == before) return there;
  }
  return last;
}

std::optional<UseHistory::Object> UseHistory::next(std::size_t ahead) const {
  if (behind_ == kNever || ahead >= kAlwaysTried + 2 * foreseen_in_a_row_) return std::nullopt;
  if (ahead < expected_.size()) return at(expected_[ahead]);
  const std::int64_t there = behind_ + static_cast<std::int64_t>(ahead - expected_.size());
  return there < end_ ? std::optional(at(there)) : std::nullopt;
}

// Half of what is kept at once, so that each use costs a constant.
void UseHistory::forget_old() {
  if (uses_.size() < 2 * kept_) return;
  uses_.erase(uses_.begin(), uses_.end() - static_cast<std::ptrdiff_t>(kept_));
  std::erase_if(expected_, [this](std::int64_t number) { return number < first(); });
  if (behind_ < first()) behind_ = kNever;
}

}  // namespace sluice::memory
