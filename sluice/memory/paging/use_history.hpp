// What is used next, from what was used before: programs that go through their data again and again use it in nearly the same
// order each time.
//
// The history is one sequence of uses, without rounds. A position in it is where the present is thought to be in the past: when
// what was used there next is used next again, it moves on by one. Where something else is used, it moves to the nearest
// place that fits (two threads share some work, and their order varies), or to the last place where these two uses
// followed each other, or to the last use. So a sequence that changes is followed as soon as something is known again.
//
// Pure; the same uses give the same answers. Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::memory {

class UseHistory {
 public:
  using Object = std::int32_t;

  // `objects`: how many there are; `kept`: how many uses are remembered.
  UseHistory(std::size_t objects, std::size_t kept) : last_use_(objects, kNever), kept_(kept) {}

  void used(Object object);

  // The `ahead`-th use from now on, the next one being 0; nothing where the history says no more.
  std::optional<Object> next(std::size_t ahead) const;

  // The number of its last use, -1 where there was none.
  std::int64_t last_use(Object object) const { return last_use_[static_cast<std::size_t>(object)]; }

  // How often the position had to be sought: uses that were not foreseen.
  std::int64_t unforeseen() const { return unforeseen_; }

 private:
  static constexpr std::int64_t kNever = -1;
  static constexpr std::int64_t kNearby = 64;

  std::int64_t first() const { return end_ - static_cast<std::int64_t>(uses_.size()); }
  Object at(std::int64_t number) const { return uses_[static_cast<std::size_t>(number - first())]; }
  std::int64_t seek(Object object) const;
  void forget_old();

  std::vector<Object> uses_;             // the last ones; the newest has number end_ - 1
  std::vector<std::int64_t> last_use_;  // of each object, its number
  std::size_t kept_;
  std::int64_t end_ = 0;
  std::int64_t position_ = kNever;  // number of the past use that is like the newest one
  std::int64_t unforeseen_ = 0;
};

}  // namespace sluice::memory
