#include "sluice/exec/delay_injector.hpp"

#include <immintrin.h>

#include <algorithm>
#include <chrono>

#include "sluice/base/clock.hpp"

namespace sluice::exec {
namespace {

constexpr Seconds kQuantum = 1e-3;

}  // namespace

void DelayInjector::add(Seconds delay) {
  debt_ += delay;
  if (debt_ >= kQuantum) settle();
}

void DelayInjector::settle() {
  if (debt_ <= 0) return;
  const Clock::time_point start = Clock::now();
  const Seconds wait = debt_;
#pragma omp parallel num_threads(threads_) firstprivate(start, wait)
  while (seconds_since(start) < wait) _mm_pause();
  // No more credit than a quantum: what goes beyond is the system taking the processor, not this wait being coarse.
  debt_ = std::max(debt_ - seconds_since(start), -kQuantum);
}

}  // namespace sluice::exec
