// What is used next, from what was used before: programs that go through their data again and again use it in nearly the same
// order each time.
//
// The history is one sequence of uses, without rounds. A place in it is where the present is thought to be in the past; what
// followed there is what comes next. Of the next uses those that have come already are crossed out, so that order may vary
// (two threads share some work); those that did not come while many behind them did are given up (uses of what has been
// here all the time go unseen). A use that is not among them was unforeseen, if it is no repetition: the place is then where
// the last two uses followed each other last, or where the last one was. No more is foreseen than twice what was foreseen
// rightly, one use after the other.
//
// Pure; the same uses give the same answers. Threads: one at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace sluice::memory {

class UseHistory {
 public:
  using Object = std::int32_t;

  // `objects`: how many there are; `kept`: how many uses are remembered.
  UseHistory(std::size_t objects, std::size_t kept)
      : nearby_(std::clamp<std::size_t>(objects / 4, 4, 64)), last_use_(objects, kNever), kept_(kept) {}

  void used(Object object);

  // The `ahead`-th use from now on, the next one being 0; nothing where the history says no more, or not surely.
  std::optional<Object> next(std::size_t ahead) const;

  std::int64_t unforeseen() const { return unforeseen_; }  // how many uses

 private:
  static constexpr std::int64_t kNever = -1;
  static constexpr std::size_t kAlwaysTried = 4;

  std::int64_t first() const { return end_ - static_cast<std::int64_t>(uses_.size()); }
  Object at(std::int64_t number) const { return uses_[static_cast<std::size_t>(number - first())]; }
  bool cross_out(Object object);
  std::int64_t seek(Object object) const;
  void expect_more();
  void forget_old();

  std::size_t nearby_;                  // so many of the next uses may come in any order
  std::vector<Object> uses_;            // the last ones; the newest has number end_ - 1
  std::vector<std::int64_t> last_use_;  // of each object, its number
  std::size_t kept_;
  std::int64_t end_ = 0;
  std::deque<std::int64_t> expected_;  // numbers of the past uses that are like the next ones, in order
  std::int64_t behind_ = kNever;       // the number of the one behind those
  std::int64_t unforeseen_ = 0;
  std::size_t foreseen_in_a_row_ = 0;
};

}  // namespace sluice::memory
