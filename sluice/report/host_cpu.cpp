#include "sluice/report/host_cpu.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <map>

#include "sluice/base/parse.hpp"

namespace sluice::report {
namespace {

// The first processor's fields: they are alike on all.
std::map<std::string, std::string> cpu_info() {
  std::map<std::string, std::string> fields;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    fields[key] = line.substr(std::min(line.size(), colon + 2));
  }
  return fields;
}

// "32768K", of the cache of the highest level.
Bytes last_level_cache() {
  int highest = 0;
  Bytes bytes = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/devices/system/cpu/cpu0/cache", ignored)) {
    int level = 0;
    std::string size;
    std::ifstream(entry.path() / "level") >> level;
    std::ifstream(entry.path() / "size") >> size;
    if (level <= highest || !size.ends_with('K')) continue;
    highest = level;
    std::string_view kib = size;
    bytes = take_integer(kib).value_or(0) * kKiB;
  }
  return bytes;
}

// 0 where there is none.
int number_in(const std::string& field) {
  const Result<std::int64_t> number = parse_integer(field, 0, std::numeric_limits<int>::max());
  return number.ok() ? static_cast<int>(*number) : 0;
}

}  // namespace

HostCpu read_host_cpu() {
  std::map<std::string, std::string> info = cpu_info();
  const std::string name = info["model name"];
  return {.name = name.empty() ? "unknown CPU" : name,
          .family = number_in(info["cpu family"]),
          .model = number_in(info["model"]),
          .stepping = number_in(info["stepping"]),
          .cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)),
          .last_level_cache_bytes = last_level_cache()};
}

std::string describe_host_cpu(const HostCpu& processor) {
  const std::string cache =
      processor.last_level_cache_bytes == 0 ? "unknown" : format_bytes(processor.last_level_cache_bytes);
  return fmt::format("{} (family {}, model {}, stepping {}), {} cores, last-level cache {}", processor.name,
                     processor.family, processor.model, processor.stepping, processor.cores, cache);
}

nlohmann::json host_cpu_json(const HostCpu& processor) {
  return {{"name", processor.name},   {"family", processor.family},
          {"model", processor.model}, {"stepping", processor.stepping},
          {"cores", processor.cores}, {"last_level_cache_bytes", processor.last_level_cache_bytes}};
}

}  // namespace sluice::report
