// How many threads compute where nobody says: as many as really run at once.
#pragma once

#include <optional>

namespace sluice {

struct ThreadLimits {
  int processors = 1;             // of this process
  std::optional<double> quota;    // processor time that the control group grants, in processors
  std::optional<int> usual = {};  // by the environment
};

// At least 1. A quota of 2.5 processors makes two: a third thread would be stopped for half of its time, and the others
// wait for it at every op.
int usual_compute_threads(const ThreadLimits& limits);

// Of this process.
ThreadLimits read_thread_limits();

// OMP_THREAD_LIMIT or SLUICE_THREADS, the least, where they are numbers above 0.
inline constexpr const char* kUsualThreads = "SLUICE_THREADS";
std::optional<int> usual_thread_limit();

}  // namespace sluice
