#include "sluice/base/limits/control_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "sluice/base/parse.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr Bytes kNoLimit = Bytes{1} << 60;  // version 1 writes its largest number where there is none

std::string first_line(const fs::path& file) {
  std::string line;
  std::ifstream opened(file);
  std::getline(opened, line);
  return line;
}

template <typename T>
void keep_least(std::optional<T>& least, T value) {
  least = least ? std::min(*least, value) : value;
}

// "max", a number of bytes, or nothing where there is no such file.
void add_memory(const fs::path& file, std::optional<Bytes>& least) {
  const Result<Bytes> bytes = parse_integer(first_line(file), 0, kNoLimit - 1);
  if (bytes.ok()) keep_least(least, *bytes);
}

// "150000" and "100000": of every 100 ms, 150 ms of processor time; "max" or -1 and a period: all.
void add_quota(std::string_view quota, std::string_view period, std::optional<double>& least) {
  const Result<double> used = parse_number(quota), of = parse_number(period);
  if (used.ok() && of.ok() && *used > 0 && *of > 0) keep_least(least, *used / *of);
}

// Version 1 limits memory and swap together.
void add_swap(const fs::path& folder, GroupLimits& limits) {
  add_memory(folder / "memory.swap.max", limits.swap);
  std::optional<Bytes> memory, together;
  add_memory(folder / "memory.limit_in_bytes", memory);
  add_memory(folder / "memory.memsw.limit_in_bytes", together);
  if (memory && together) keep_least(limits.swap, std::max<Bytes>(0, *together - *memory));
}

void add_group(const fs::path& folder, GroupLimits& limits) {
  for (const char* const name : {"memory.max", "memory.high", "memory.limit_in_bytes"}) {
    add_memory(folder / name, limits.memory);
  }
  add_swap(folder, limits);
  const std::string both = first_line(folder / "cpu.max");
  if (const std::size_t space = both.find(' '); space != std::string::npos) {
    add_quota(both.substr(0, space), both.substr(space + 1), limits.processors);
  }
  add_quota(first_line(folder / "cpu.cfs_quota_us"), first_line(folder / "cpu.cfs_period_us"), limits.processors);
}

// "cpu,cpuacct" has "cpu".
bool has(const std::string& controllers, const std::string& name) {
  return fmt::format(",{},", controllers).find(fmt::format(",{},", name)) != std::string::npos;
}

// The group and those above it, up to where its controller is mounted.
void add_groups(const fs::path& mounted, const std::string& group, GroupLimits& limits) {
  fs::path inside = fs::path(group).relative_path();
  while (true) {
    add_group(mounted / inside, limits);
    if (inside.empty()) return;
    inside = inside.parent_path();
  }
}

}  // namespace

GroupLimits read_group_limits(const fs::path& root) {
  GroupLimits limits;
  const fs::path mounted = root / "sys/fs/cgroup";
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "4:memory:/group", or "0::/group" of version 2
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controllers.empty()) {
      add_groups(mounted, line.substr(second + 1), limits);
    } else if (has(controllers, "memory") || has(controllers, "cpu")) {
      for (const std::string& name : {controllers, std::string(has(controllers, "cpu") ? "cpu" : "memory")}) {
        add_groups(mounted / name, line.substr(second + 1), limits);
      }
    }
  }
  return limits;
}

}  // namespace sluice
