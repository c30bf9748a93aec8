#include "sluice/base/threads/compute_thread_count.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "sluice/base/limits/control_group.hpp"
#include "sluice/base/parse.hpp"
#include "sluice/base/threads/cpu_affinity.hpp"

namespace sluice {

int usual_compute_threads(const ThreadLimits& limits) {
  int threads = limits.processors;
  if (limits.quota) threads = static_cast<int>(std::min<double>(threads, std::floor(*limits.quota)));
  if (limits.usual) threads = std::min(threads, *limits.usual);
  return std::max(1, threads);
}

ThreadLimits read_thread_limits() {
  return {.processors = processor_count(), .quota = read_group_limits().processors, .usual = usual_thread_limit()};
}

std::optional<int> usual_thread_limit() {
  std::optional<int> least;
  for (const char* const name : {"OMP_THREAD_LIMIT", kUsualThreads}) {
    const char* const text = std::getenv(name);
    if (text == nullptr) continue;
    const Result<std::int64_t> limit = parse_integer(text, 1, std::numeric_limits<int>::max());
    if (limit.ok()) least = static_cast<int>(std::min<std::int64_t>(*limit, least.value_or(*limit)));
  }
  return least;
}

}  // namespace sluice
