// A point in time that a wait must not pass; none means for ever.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "sluice/base/clock.hpp"
#include "sluice/base/units.hpp"

namespace sluice::memory {

using Deadline = std::optional<Clock::time_point>;

inline Clock::duration to_duration(Seconds seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<Seconds>(seconds));
}

inline Deadline deadline_after(std::optional<Seconds> seconds) {
  if (!seconds) return std::nullopt;
  return Clock::now() + to_duration(*seconds);
}

inline Deadline earlier(Deadline a, Deadline b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// Never negative.
inline std::optional<Seconds> seconds_until(Deadline deadline) {
  if (!deadline) return std::nullopt;
  return std::max(0.0, std::chrono::duration<Seconds>(*deadline - Clock::now()).count());
}

}  // namespace sluice::memory
