#include "sluice/memory/paging/use_history.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::memory {

void UseHistory::used(Object object) {
  const std::int64_t expected = position_ == kNever ? kNever : position_ + 1;
  if (expected != kNever && expected < end_ && at(expected) == object) {
    position_ = expected;
  } else {
    position_ = seek(object);
    ++unforeseen_;
  }
  uses_.push_back(object);
  last_use_[as_index(object)] = end_++;
  forget_old();
}

std::int64_t UseHistory::seek(Object object) const {
  const std::int64_t last = last_use_[as_index(object)];
  if (last < first()) return kNever;
  for (std::int64_t away = 1; position_ != kNever && away <= kNearby; ++away) {
    for (const std::int64_t there : {position_ + 1 + away, position_ + 1 - away}) {
      if (there >= first() && there < end_ && at(there) == object) return there;
    }
  }
  const Object before = uses_.back();
  for (std::int64_t there = last; there > first(); --there) {
    if (at(there) == object && at(there - 1) == before) return there;
  }
  return last;
}

std::optional<UseHistory::Object> UseHistory::next(std::size_t ahead) const {
  const std::int64_t there = position_ + 1 + static_cast<std::int64_t>(ahead);
  if (position_ == kNever || there >= end_) return std::nullopt;
  return at(there);
}

// Half of what is kept at once, so that each use costs a constant.
void UseHistory::forget_old() {
  if (uses_.size() < 2 * kept_) return;
  uses_.erase(uses_.begin(), uses_.end() - static_cast<std::ptrdiff_t>(kept_));
  if (position_ < first()) position_ = kNever;
}

}  // namespace sluice::memory
