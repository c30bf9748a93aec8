// Emulates slow addressable memory: makes the compute threads wait as long as the slow accesses would have taken.
//
// All compute threads wait together (an idle core would let transfers run faster than they could beside a busy one).
// The debt is carried over ops until it reaches a quantum, because many short waits lose more to starting and stopping
// than they wait. What a wait takes too long is deducted from the next one. Compute thread only.
#pragma once

#include "sluice/base/units.hpp"

namespace sluice::exec {

class DelayInjector {
 public:
  explicit DelayInjector(int threads) : threads_(threads) {}

  // Adds to the debt, and waits once it has reached the quantum.
  void add(Seconds delay);
  // Waits for what is owed now: before compute sleeps for a transfer and at the end of a step, where carrying the debt
  // on would hide it.
  void settle();

 private:
  int threads_;
  Seconds debt_ = 0;
};

}  // namespace sluice::exec
