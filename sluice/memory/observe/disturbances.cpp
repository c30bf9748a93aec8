#include "sluice/memory/observe/disturbances.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "sluice/base/parse.hpp"

namespace sluice::memory {

std::vector<std::string> disturbances_in(const std::string& process_status) {
  std::vector<std::string> found;
  std::istringstream lines(process_status);
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kTracer = "TracerPid:";
    if (!line.starts_with(kTracer)) continue;
    std::string_view number = line;
    number.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t", kTracer.size())));
    const std::int64_t tracer = take_integer(number).value_or(0);
    if (tracer == 0) continue;
    found.push_back(fmt::format(
        "process {} is tracing this one (a debugger?): it sees every fault first, so counts may be off and times are",
        tracer));
  }
#if defined(__SANITIZE_ADDRESS__)
  found.emplace_back("built with AddressSanitizer: its own accesses count too, so counts may be off and times are");
#endif
#if defined(__SANITIZE_THREAD__)
  found.emplace_back("built with ThreadSanitizer: its own accesses count too, so counts may be off and times are");
#endif
  return found;
}

std::vector<std::string> counting_disturbances() {
  std::ifstream file("/proc/self/status");
  return disturbances_in({std::istreambuf_iterator<char>(file), {}});
}

}  // namespace sluice::memory
