#include "sluice/base/threads/cpu_affinity.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <vector>

// Of OpenMP where the program has it, nullptr where not: this library does not need it.
extern "C" {
int omp_get_num_places() __attribute__((weak));
int omp_get_place_num_procs(int place) __attribute__((weak));
void omp_get_place_proc_ids(int place, int* ids) __attribute__((weak));
}

namespace sluice {
namespace {

cpu_set_t cpus_of_this_thread() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  (void)pthread_getaffinity_np(pthread_self(), sizeof(cpus), &cpus);
  return cpus;
}

const cpu_set_t kAtStart = cpus_of_this_thread();

cpu_set_t find_cpus_of_process() {
  cpu_set_t cpus = kAtStart;
  const int places = omp_get_num_places == nullptr ? 0 : omp_get_num_places();
  for (int place = 0; place < places; ++place) {
    std::vector<int> ids(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, ids.data());
    for (const int id : ids) CPU_SET(id, &cpus);
  }
  return cpus;
}

const cpu_set_t& cpus_of_process() {
  static const cpu_set_t cpus = find_cpus_of_process();
  return cpus;
}

}  // namespace

void allow_every_cpu() { (void)pthread_setaffinity_np(pthread_self(), sizeof(cpu_set_t), &cpus_of_process()); }

void keep_to_cores(int first, int count) {
  allow_every_cpu();
  const cpu_set_t& all = cpus_of_process();
  if (CPU_COUNT(&all) < first + count) return;
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

int processor_count() { return std::max(1, CPU_COUNT(&cpus_of_process())); }

int usable_cpus() {
  const cpu_set_t own = cpus_of_this_thread();
  return std::max(1, CPU_COUNT(&own));
}

}  // namespace sluice
