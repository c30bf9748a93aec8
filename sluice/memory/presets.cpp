#include "sluice/memory/presets.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "sluice/base/limits/memory_allowance.hpp"
#include "sluice/memory/building.hpp"
#include "sluice/memory/numa_tiers.hpp"

namespace sluice::memory {
namespace {

// Of the caches' nominal bytes, what data are still found in, or not yet written back from: the share that explains
// AutoTM's kernels best (benchmarks/papers/autotm_numbers.cpp). Sets, other data and a prefetcher's guesses take
// the rest.
constexpr double kUsableCaches = 0.12;

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown CPU";
}

// "32768K", as the kernel says it; 0 where it says nothing.
Bytes read_cache_size(const std::string& path) {
  std::ifstream file(path);
  Bytes kibibytes = 0;
  file >> kibibytes;
  return kibibytes * kKiB;
}

// Of the first processor: its own cache for every thread, and the shared one.
Bytes usable_caches(int threads) {
  const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index";
  const Bytes all = threads * read_cache_size(folder + "2/size") + read_cache_size(folder + "3/size");
  return share_of(kUsableCaches, all);
}

void make_gpu_fast(const GpuFacts& gpu, Machine& machine) {
  machine.cpu = fmt::format("{} (driver for CUDA {}), host {}", gpu.name, gpu.driver, machine.cpu);
  machine.threads = 1;
  machine.cache_bytes = gpu.cache_bytes;
  Tier& fast = machine.tiers.front();
  fast.name = "gpu";
  fast.kind = TierKind::kGpu;
  fast.capacity = gpu.free;
  fast.read_bandwidth = fast.write_bandwidth = gpu.bandwidth;
  machine.processors = {{.name = "gpu", .threads = 1, .tiers = {}, .emulated = false, .backend = "cuda"}};
}

Result<TierKind> find_kind(const std::string& slow) {
  for (const TierKind kind : tier_kinds()) {
    if (kind->is_named != nullptr && kind->is_named(slow)) return kind;
  }
  return Error{ErrorCode::kBadInput, fmt::format("unknown tier '{}'; known slow tiers: {}, numa:NODE", slow,
                                                 fmt::join(slow_tier_names(), ", "))};
}

// What a device's memory leads to is within reach of the device.
Status add_slow_tier(const SlowTierOptions& slow, const std::string& spill_path, Machine& machine) {
  const Result<TierKind> kind = find_kind(slow.name);
  if (!machine.tier(kFastTier).kind->host_reaches && !(kind.ok() && (*kind)->device_reaches)) {
    return bad_input(fmt::format("--slow {}: a GPU's memory leads to host (pinned memory) alone", slow.name));
  }
  if (!kind.ok()) return kind.error();
  return (*kind)->add(slow, spill_path, machine);
}

// By the names that outputs show: numa:1 and numa:0,1 are one tier.
Status check_named_once(const Machine& machine) {
  for (std::size_t i = 0; i < machine.tiers.size(); ++i) {
    for (std::size_t other = i + 1; other < machine.tiers.size(); ++other) {
      if (machine.tiers[i].name != machine.tiers[other].name) continue;
      return Error{ErrorCode::kBadInput, fmt::format("slow tier '{}' is named twice", machine.tiers[i].name)};
    }
  }
  return {};
}

}  // namespace

Machine host_machine(int threads) {
  Machine machine;
  machine.cpu = fmt::format("{}, {} cores", cpu_model(), ::sysconf(_SC_NPROCESSORS_ONLN));
  machine.threads = threads;
  machine.cache_bytes = usable_caches(threads);
  Tier dram;
  dram.name = "dram";
  dram.capacity = memory_capacity();
  dram.read_bandwidth = dram.write_bandwidth = kNominalDramBandwidth;
  dram.latency = kDramLatency;
  machine.tiers.push_back(dram);
  return machine;
}

std::vector<std::string> slow_tier_names() {
  std::vector<std::string> names;
  for (const TierKind kind : tier_kinds()) {
    if (kind->names == nullptr) continue;
    for (std::string& name : kind->names()) names.push_back(std::move(name));
  }
  return names;
}

Result<SlowTierRequest> parse_slow_tier(std::string_view text) {
  // A memory node's name has a colon of its own.
  const std::size_t after_name = is_numa_request(text) ? text.find(':') + 1 : 0;
  const std::size_t colon = text.find(':', after_name);
  SlowTierRequest request{std::string(text.substr(0, colon)), std::nullopt};
  if (colon == std::string_view::npos) return request;
  SLUICE_ASSIGN(request.capacity, parse_memory_size(text.substr(colon + 1)));
  if (request.capacity->resolve(kGiB) < kBlockAlignment) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("--slow {}: a tier has at least {}", text, format_bytes(kBlockAlignment))};
  }
  return request;
}

std::string describe_capacity(const Tier& tier) {
  const MemoryAllowance& allowed = memory_allowance();
  std::string text = format_bytes(tier.capacity);
  const bool limited = tier.kind->host_reaches && tier.capacity == allowed.bytes && !allowed.by.empty();
  if (limited) text += fmt::format(" (what is left by {})", allowed.by);
  return text;
}

Result<Machine> make_machine(const MachineOptions& options) {
  if (options.threads < 1) {
    return Error{ErrorCode::kBadInput, fmt::format("{} compute threads; at least 1 is needed", options.threads)};
  }
  Machine machine = host_machine(options.threads);
  if (options.gpu) {
    if (!options.processors.empty()) return bad_input("--gpu and --processors exclude each other");
    make_gpu_fast(*options.gpu, machine);
  }
  for (const SlowTierOptions& slow : options.slow) {
    SLUICE_RETURN_IF_ERROR(add_slow_tier(slow, options.spill_path, machine));
  }
  SLUICE_RETURN_IF_ERROR(check_named_once(machine));
  SLUICE_RETURN_IF_ERROR(add_processors(options.processors, machine));
  for (Link& link : machine.links) {
    if (!options.link_bandwidth) break;
    link.bandwidth = *options.link_bandwidth;
    link.throttled = true;
    link.provenance = Provenance::kEmulated;
  }
  return machine;
}

}  // namespace sluice::memory
