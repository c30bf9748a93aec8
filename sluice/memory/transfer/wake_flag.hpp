// Lets any thread end the wait of one owner thread. When the owner is not asleep, waking it is one atomic exchange:
// no system call.
#pragma once

#include <atomic>

namespace sluice::memory {

class WakeFlag {
 public:
  // Any thread. True: the owner is asleep, and the caller must rouse it by whatever it sleeps on.
  bool set() { return state_.exchange(State::kSet) == State::kAsleep; }

  // Owner, before sleeping. False: already set, so it must not sleep.
  bool try_sleep() {
    State expected = State::kAwake;
    return state_.compare_exchange_strong(expected, State::kAsleep);
  }

  // Owner, after sleeping or instead of it. Clears the flag; true if it was set.
  bool rise() { return state_.exchange(State::kAwake) == State::kSet; }

  bool is_set() const { return state_.load() == State::kSet; }

 private:
  enum class State { kAwake, kAsleep, kSet };
  std::atomic<State> state_{State::kAwake};
};

}  // namespace sluice::memory
