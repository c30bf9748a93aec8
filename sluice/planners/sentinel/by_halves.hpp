// Group testing: finds which of many small changes help, when trying them one by one would take too long and a single
// bad change spoils all the others.
#pragma once

#include <span>

namespace sluice::planners {

// `adopt(some)` tries these changes together, keeps them if that gains, and returns whether it did. It is called with
// all changes first; if that does not gain, with one half and then with the other. It is called at most `trials` times,
// and each call counts `trials` down. Returns true when any call gained.
template <typename Change, typename Adopt>
bool adopt_by_halves(std::span<const Change> changes, const Adopt& adopt, int& trials) {
  if (changes.empty() || trials == 0) return false;
  --trials;
  if (adopt(changes)) return true;
  if (changes.size() == 1) return false;
  const std::size_t half = changes.size() / 2;
  const bool first = adopt_by_halves(changes.first(half), adopt, trials);
  return adopt_by_halves(changes.subspan(half), adopt, trials) || first;
}

}  // namespace sluice::planners
