#include "sluice/doctor/read_host.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "sluice/base/as_index.hpp"
#include "sluice/base/limits/control_group.hpp"
#include "sluice/base/threads/cpu_affinity.hpp"
#include "sluice/doctor/read_storage.hpp"
#include "sluice/exec/ranks/mpi_ranks.hpp"
#include "sluice/gpu/gpu_memory.hpp"
#include "sluice/memory/numa_topology.hpp"
#include "sluice/memory/presets.hpp"

namespace sluice::doctor {
namespace {

// "always [madvise] never": the word in brackets.
std::string chosen_word(const char* file) {
  std::string line;
  std::ifstream opened(file);
  std::getline(opened, line);
  const std::size_t begin = line.find('[');
  const std::size_t end = line.find(']');
  return begin == std::string::npos || end == std::string::npos ? "" : line.substr(begin + 1, end - begin - 1);
}

std::optional<std::int64_t> limit_of(__rlimit_resource resource) {
  struct rlimit limit {};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<std::int64_t>(limit.rlim_cur);
}

LimitFacts read_limits() {
  const GroupLimits group = read_group_limits();
  return {.locked_memory = limit_of(RLIMIT_MEMLOCK),
          .file_size = limit_of(RLIMIT_FSIZE),
          .group_memory = group.memory,
          .group_processors = group.processors,
          .open_files = limit_of(RLIMIT_NOFILE)};
}

// Time of all processors since the start, in the kernel's ticks: busy and in all.
std::pair<double, double> processor_time() {
  std::ifstream file("/proc/stat");
  std::string name;
  file >> name;
  double busy = 0, all = 0, ticks = 0;
  for (int column = 0; column < 8 && file >> ticks; ++column) {  // user nice system idle iowait irq softirq steal
    all += ticks;
    if (column != 3 && column != 4) busy += ticks;
  }
  return {busy, all};
}

// How many of `online` processors are busy while this process sleeps.
double busy_now(int online) {
  const auto [busy_before, all_before] = processor_time();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const auto [busy, all] = processor_time();
  return all > all_before ? online * (busy - busy_before) / (all - all_before) : 0;
}

ProcessorFacts read_processors() {
  ProcessorFacts facts{.name = memory::host_machine(1).cpu,
                       .online = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN))};
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  facts.allowed = ::sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : facts.online;
  facts.busy = busy_now(facts.online);
  if (const char* const threads = std::getenv("OMP_NUM_THREADS")) facts.omp_threads = threads;
  const Result<memory::NumaTopology> topology = memory::read_numa_topology();
  facts.nodes = topology.ok() ? std::max(1, count_of(topology->with_memory())) : 1;
  return facts;
}

// "MemAvailable:   15643012 kB"
MemoryFacts read_memory() {
  MemoryFacts facts;
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  for (Bytes value = 0; file >> key >> value; std::getline(file, unit)) {
    if (key == "MemTotal:") facts.total = value * kKiB;
    if (key == "MemAvailable:") facts.available = value * kKiB;
  }
  return facts;
}

KernelFacts read_kernel() {
  constexpr Bytes kBuffer = 64 * kMiB;  // more than the usual limit on locked memory
  struct utsname names {};
  ::uname(&names);
  return {.release = names.release,
          .huge_pages = chosen_word("/sys/kernel/mm/transparent_hugepage/enabled"),
          .uring = memory::find_uring(kBuffer)};
}

// One for each number of threads that a run here may have, and for each backend of its other processors
// (measure/choice_profiler.hpp).
std::vector<std::string> fingerprints_here() {
  std::vector<std::string> fingerprints;
  const int cores = processor_count();
  for (int threads = 1; threads <= cores; ++threads) {
    fingerprints.push_back(memory::host_machine(threads).compute_fingerprint());
    fingerprints.push_back(fingerprints.back() + "-reference");
  }
  return fingerprints;
}

}  // namespace

HostFacts read_host(const WhereToLook& where) {
  HostFacts facts{.kernel = read_kernel(),
                  .limits = read_limits(),
                  .processors = read_processors(),
                  .memory = read_memory(),
                  .storage = read_storage(where.spill_path),
                  .onednn = kernels::read_onednn_facts(),
                  .cache = profile::read_cache_inventory(where.cache_folder, fingerprints_here()),
                  .mpi = exec::find_mpi().ok()};
  const Result<memory::GpuFacts> gpu = gpu::find_gpu();
  if (gpu.ok()) {
    facts.gpu = *gpu;
  } else {
    facts.no_gpu = gpu.error().message;
  }
  return facts;
}

}  // namespace sluice::doctor
