// How long something takes, for the probes.
#pragma once

#include "sluice/exec/transfer/deadline.hpp"

namespace sluice {

template <typename Work>
Seconds time_of(const Work& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<Seconds>(Clock::now() - begin).count();
}

}  // namespace sluice
