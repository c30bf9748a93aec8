// How compute threads wait for each other: spinning while each has a processor to itself, asleep while it has not.
//
// Spinning is the fastest way to wait for a thread that runs. Where another program has that thread's processor,
// spinning burns the waiting thread's share of its own: a step of many short ops then takes a hundred times as long.
// OpenMP's rule is chosen before a program starts; this one follows the machine, both ways, while the program runs:
//
//     threads' time in run queues --ThreadTimes--> share --WaitDecider--> asleep --SleepingBarriers--> libgomp
//
// Only how threads wait changes: not which thread does what, so the bits stay. On an idle machine the cost is a thread
// that reads a few numbers from /proc forty times a second. Without /proc/PID/task/TID/schedstat (some containers) or
// with OMP_WAIT_POLICY set nothing is decided and threads wait as the environment says.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "sluice/base/units.hpp"

namespace sluice::kernels {

// While one exists, whatever waits in libgomp (barriers, the dock between parallel regions) spins only for microseconds
// and then sleeps in the kernel. libgomp waits in this way when it keeps more threads than there are processors, so
// this object keeps a team of that many threads, asleep. Other OpenMP libraries take no notice.
class SleepingBarriers {
 public:
  SleepingBarriers();
  ~SleepingBarriers();
  SleepingBarriers(const SleepingBarriers&) = delete;
  SleepingBarriers& operator=(const SleepingBarriers&) = delete;

 private:
  struct Team;
  std::unique_ptr<Team> team_;
};

// How long this process' threads ran, and how long they stood in run queues: ready to run, without a processor.
class ThreadTimes {
 public:
  struct Sums {
    Seconds ran = 0, queued = 0;  // of all threads together
  };

  // `tasks`: a folder with a file TID/schedstat for each thread, as the kernel keeps it.
  explicit ThreadTimes(std::filesystem::path tasks = "/proc/self/task") : tasks_(std::move(tasks)) {}
  ~ThreadTimes();
  ThreadTimes(const ThreadTimes&) = delete;
  ThreadTimes& operator=(const ThreadTimes&) = delete;

  // Since the last call, over the threads known then; new ones are looked for once a second. Nothing where the kernel
  // does not say.
  std::optional<Sums> since_last();

 private:
  struct Thread {
    int id, file;
    Sums since_start;
  };
  void list_threads();

  std::filesystem::path tasks_;
  std::vector<Thread> threads_;
  int calls_ = 0;
};

// The part of the queueing that other programs can be blamed for. Our own copying threads queue for the same
// processors, but other programs can have taken only the processor time that we did not run.
Seconds queued_for_others(const ThreadTimes::Sums& times, Seconds elapsed, int processors);

// Decides from readings at regular times. No clocks, no threads.
//
// Threads go to sleep after two busy readings in a row, so that one hiccup changes nothing, and spin again after some
// quiet ones. While they sleep they leave processors to others, and may queue little even if others are there. So
// spinning is a trial: if it goes wrong at once, the next trial waits for twice as many quiet readings.
class WaitDecider {
 public:
  static constexpr double kBusyShare = 0.25;  // of a reading's time, over all threads
  static constexpr double kQuietShare = 0.08;
  static constexpr int kBusyReadings = 2;
  static constexpr int kQuietReadings = 20, kMostQuietReadings = 320;
  static constexpr int kTrialReadings = 40;  // spinning that lasts longer went well

  // `queued` seconds of `elapsed` in run queues for others. True: threads are to sleep from now on.
  bool observe(Seconds elapsed, Seconds queued);

 private:
  bool asleep_ = false;
  int in_a_row_ = 0;                   // busy readings while spinning, quiet ones while asleep
  int spinning_for_ = kTrialReadings;  // readings
  int patience_ = kQuietReadings;
};

// The thread that reads, decides and switches.
class WaitPolicy {
 public:
  // The one of this process. The first who asks starts it, and it stops when the last holder lets go. Whoever computes
  // holds it.
  static std::shared_ptr<WaitPolicy> of_process();

  WaitPolicy();
  bool asleep() const { return asleep_; }  // now

 private:
  void run(const std::stop_token& stop);

  std::atomic<bool> asleep_ = false;
  std::jthread thread_;
};

}  // namespace sluice::kernels
