// Ctrl-C as a flag: while an object of this class lives, SIGINT and SIGTERM only set it, so that the step under way is
// finished and files are left whole. A second signal ends the process at once. One object at a time.
#pragma once

#include <csignal>

namespace sluice::train {

class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool interrupted() const;

 private:
  struct sigaction previous_int_ {};
  struct sigaction previous_term_ {};
};

}  // namespace sluice::train
