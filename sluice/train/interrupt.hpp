// What asks a process to end as a flag: while an object of this class lives, SIGINT, SIGTERM and SIGHUP only set it, so that
// the step under way is finished, a checkpoint written and files left whole. One object at a time.
//
//   Ctrl-C (SIGINT)   a second one ends the process at once
//   SIGTERM, SIGHUP   never: launchers, shells and the kernel send them several times over. SIGKILL does
//
// A hangup that is ignored when the object is made (nohup) stays ignored, and so does a Ctrl-C that is meant for another job of
// the terminal: shells start `sluice train ... &` in scripts with SIGINT ignored.
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
  struct sigaction previous_hangup_ {};
};

}  // namespace sluice::train
