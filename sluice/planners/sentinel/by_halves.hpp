// Group testing: which of many small changes are for the better, when trying one by one would take too long and a single
// bad one spoils them all.
#pragma once

#include <span>

namespace sluice {

// `adopt(some)` tries these changes together, and keeps them if that gains. All at once first; where that does not
// gain, one half and then the other. At most `trials` calls, counted down. True when any gained.
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

}  // namespace sluice
