// Which of the choices between fast and slow memory make a step fastest: a local search from given starts.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "sluice/planners/joint/cheapest_lives.hpp"

namespace sluice::planners {

class InPlaceSearch {
 public:
  using SecondsOf = std::function<Seconds(const std::set<PrefetchKey>& slow)>;

  // `seconds_of`: of a step whose prefetches in `slow` are left out; infinity where there is none.
  explicit InPlaceSearch(SecondsOf seconds_of) : seconds_of_(std::move(seconds_of)) {}

  // The fastest start so far is kept.
  void begin_at(std::vector<InPlaceChoice> choices);

  // Tries single choices the other way, in their order and round again while that gains, at most `most` times.
  void improve(int most, const std::function<bool()>& stopped);

  const std::set<PrefetchKey>& slow() const { return slow_; }

 private:
  SecondsOf seconds_of_;
  std::vector<InPlaceChoice> choices_;
  std::set<PrefetchKey> slow_;
  Seconds seconds_ = 0;
};

}  // namespace sluice::planners
