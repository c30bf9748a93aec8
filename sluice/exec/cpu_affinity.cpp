#include "sluice/exec/cpu_affinity.hpp"

#include <pthread.h>
#include <sched.h>

namespace sluice {

void allow_every_cpu() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &all);
  // The kernel drops the CPUs that this process may not use.
  (void)pthread_setaffinity_np(pthread_self(), sizeof(all), &all);
}

}  // namespace sluice
