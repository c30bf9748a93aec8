// How long something takes by the clock that never jumps.
#pragma once

#include <chrono>

#include "sluice/base/units.hpp"

namespace sluice {

template <typename Work>
Seconds time_of(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<Seconds>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace sluice
