#include "sluice/base/threads/cpu_affinity.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <thread>

namespace sluice {

void allow_every_cpu() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &all);
  // The kernel drops the CPUs that this process may not use.
  (void)pthread_setaffinity_np(pthread_self(), sizeof(all), &all);
}

void keep_to_cores(int first, int count) {
  allow_every_cpu();
  cpu_set_t all;
  CPU_ZERO(&all);
  if (pthread_getaffinity_np(pthread_self(), sizeof(all), &all) != 0 || CPU_COUNT(&all) < first + count) return;
  cpu_set_t own;
  CPU_ZERO(&own);
  int seen = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &all)) continue;
    if (seen >= first && seen < first + count) CPU_SET(cpu, &own);
    ++seen;
  }
  (void)pthread_setaffinity_np(pthread_self(), sizeof(own), &own);
}

int processor_count() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

int usable_cpus() {
  cpu_set_t all;
  CPU_ZERO(&all);
  return pthread_getaffinity_np(pthread_self(), sizeof(all), &all) == 0 ? CPU_COUNT(&all) : 1;
}

}  // namespace sluice
