// Waiting for another thread to end a few instructions or one system call, in a signal handler or outside.
//
// Spins first: the other thread is likely to be running. Then it gives the processor away, since with more threads than
// processors the other one may be waiting for ours.
#pragma once

#include <sched.h>

namespace sluice::memory {

class WaitBriefly {
 public:
  void operator()() {
    if (spins_ < kSpins) {
      ++spins_;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
      return;
    }
    ::sched_yield();
  }

 private:
  static constexpr int kSpins = 100;  // some microseconds, as long as a system call that changes a protection

  int spins_ = 0;
};

}  // namespace sluice::memory
