#include "sluice/memory/process_memory.hpp"

#include <dlfcn.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <limits>
#include <string>

namespace sluice::memory {
namespace {

// A line such as "VmHWM:  123 kB" of a file in /proc/self; 0 where it has none.
Bytes figure(const char* file, const std::string& name) {
  std::ifstream lines(file);
  for (std::string word; lines >> word;) {
    if (word == name) {
      Bytes kibibytes = 0;
      lines >> kibibytes;
      return kibibytes * kKiB;
    }
    lines.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

// Since the kernel began to count.
Bytes counted_peak() {
  const Bytes peak = figure("/proc/self/status", "VmHWM:");
  const Bytes shared = figure("/proc/self/status", "RssShmem:");
  if (shared == 0) return peak;
  return peak - shared + figure("/proc/self/smaps_rollup", "Pss_Shmem:");
}

std::atomic<Bytes> earlier_peak = 0;

}  // namespace

Bytes peak_resident_bytes() { return std::max(earlier_peak.load(), counted_peak()); }

void return_free_memory() {
  // Where tcmalloc is there instead of the C library's: what it calls this.
  using Release = void (*)();
  static const auto of_tcmalloc = reinterpret_cast<Release>(::dlsym(RTLD_DEFAULT, "MallocExtension_ReleaseFreeMemory"));
  if (of_tcmalloc != nullptr) of_tcmalloc();
  ::malloc_trim(0);
}

void keep_peak_resident() { earlier_peak = peak_resident_bytes(); }

void count_peak_anew() { std::ofstream("/proc/self/clear_refs") << 5; }  // resets VmHWM alone

}  // namespace sluice::memory
