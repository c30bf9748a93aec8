// The clock that everything here is timed with.
#pragma once

#include <chrono>

#include "sluice/base/units.hpp"

namespace sluice {

using Clock = std::chrono::steady_clock;

inline Seconds seconds_since(Clock::time_point begin) {
  return std::chrono::duration<Seconds>(Clock::now() - begin).count();
}

}  // namespace sluice
