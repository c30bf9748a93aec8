#include "sluice/memory/presets.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "sluice/memory/numa_tiers.hpp"

namespace sluice {
namespace {

constexpr double kGB = 1e9;

// Nominal figures for what has not been measured yet: DRAM as on a two-channel server slice, a file as on one NVMe
// disk.
constexpr BytesPerSecond kNominalDramBandwidth = 50 * kGB;
constexpr BytesPerSecond kNominalFileBandwidth = 2 * kGB;
constexpr Seconds kDramLatency = 90e-9;   // ReDL table I, fast memory
constexpr Seconds kFileLatency = 100e-6;  // one small request to an NVMe disk
// What compute loses to direct I/O beside it: two threads that meet at a barrier every 0.1 to 2 ms, both on one of two
// cores, took 55 us longer for every transfer of 256 KiB and 129 us for every one of 4 MiB. ResNet-50's steps agree (30 ms
// per GB in large transfers, 20 to 40 from run to run), and an LSTM's with 500 small ones. Another machine's disk cost
// 110 to 300 ms per GB, so probing replaces these (probe/probe_file.hpp). Lanes that copy in memory lose more, by the
// processors they leave to compute (probe/probe_beside_compute.hpp).
constexpr Seconds kFileInterference = 19e-12;
constexpr Seconds kFileRequestInterference = 50e-6;

// Of the caches' nominal bytes, what an op's operands are still found in, or not yet written back from: the share that
// explains AutoTM's kernels best (benchmarks/papers/autotm_numbers.cpp). Sets, other data and a prefetcher's guesses take
// the rest.
constexpr double kUsableCaches = 0.12;

struct EmulatedPreset {
  const char* name;
  bool addressable;
  BytesPerSecond read_bandwidth;   // in order
  BytesPerSecond write_bandwidth;  // in whole granules
  Bytes granule;
  Seconds latency;
  BytesPerSecond link_to_fast;
  BytesPerSecond link_from_fast;
  Seconds link_latency;  // of one transfer
  CopiedBy copied_by;
};

// optane  Six interleaved 128 GB modules on one socket, as AutoTM's and Sentinel's machines had them. Izraelevitz et al.,
//         "Basic performance measurements of the Intel Optane DC persistent memory module" (2019): reads 39.4 GB/s,
//         writes 13.9 GB/s, a quarter of that where they do not fill granules of 256 bytes, 305 ns a random read.
//         Copies: AutoTM, artifact, by the processors' streaming instructions, 29 GB/s to DRAM and 12 GB/s from it. (Its
//         asynchronous figures, 2.0 and 2.5 GB/s, are of its one copying thread; a link bandwidth of 2GB/s stands for
//         them.)
// pmbd    ReDL table I: slow memory 19 GB/s, 200 ns. Lines are written as they come. Copies are limited by it.
// pcie3   A GPU's view of host memory over PCIe 3.0 x16: AutoTM section 7.2, 12 GB/s each way, by the GPU's own engines.
//         10 us to start a copy is our assumption.
constexpr std::array<EmulatedPreset, 3> kPresets{{
    {"optane", true, 39.4 * kGB, 13.9 * kGB, 256, 305e-9, 29 * kGB, 12 * kGB, 305e-9, CopiedBy::kProcessor},
    {"pmbd", true, 19 * kGB, 19 * kGB, 64, 200e-9, 19 * kGB, 19 * kGB, 200e-9, CopiedBy::kProcessor},
    {"pcie3", false, 12 * kGB, 12 * kGB, 64, 10e-6, 12 * kGB, 12 * kGB, 10e-6, CopiedBy::kDma},
}};

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
  return static_cast<Bytes>(kUsableCaches * static_cast<double>(all));
}

Bytes memory_capacity() {
  struct sysinfo info {};
  if (::sysinfo(&info) != 0) return 0;
  return static_cast<Bytes>(info.totalram) * info.mem_unit;
}

Tier emulated_tier(const EmulatedPreset& preset, Bytes capacity) {
  Tier tier;
  tier.name = preset.name;
  tier.kind = TierKind::kEmulated;
  tier.capacity = capacity > 0 ? capacity : memory_capacity();
  tier.read_bandwidth = preset.read_bandwidth;
  tier.write_bandwidth = preset.write_bandwidth;
  tier.granule = preset.granule;
  tier.latency = preset.latency;
  tier.addressable = preset.addressable;
  tier.provenance = Provenance::kEmulated;
  return tier;
}

Link emulated_link(TierId from, TierId to, BytesPerSecond bandwidth, const EmulatedPreset& preset) {
  Link link;
  link.from = from;
  link.to = to;
  link.bandwidth = bandwidth;
  link.latency = preset.link_latency;
  link.throttled = true;
  link.copied_by = preset.copied_by;
  link.provenance = Provenance::kEmulated;
  return link;
}

TierId add_tier(Tier tier, Machine& machine) {
  machine.tiers.push_back(std::move(tier));
  return static_cast<TierId>(machine.tiers.size()) - 1;
}

void add_emulated(const EmulatedPreset& preset, Bytes capacity, Machine& machine) {
  const TierId slow = add_tier(emulated_tier(preset, capacity), machine);
  machine.links.push_back(emulated_link(slow, kFastTier, preset.link_to_fast, preset));
  machine.links.push_back(emulated_link(kFastTier, slow, preset.link_from_fast, preset));
}

// Room for the spill file at `path`, or in the directory that would hold it.
Result<Bytes> free_space(const std::string& path) {
  struct statvfs info {};
  if (::statvfs(path.c_str(), &info) != 0) {
    const std::string parent = std::filesystem::absolute(path).parent_path().string();
    if (::statvfs(parent.c_str(), &info) != 0) {
      return Error{
          ErrorCode::kBadInput,
          fmt::format("cannot put the spill file at '{}': {}; name an existing directory", path, std::strerror(errno))};
    }
  }
  return static_cast<Bytes>(info.f_bavail) * static_cast<Bytes>(info.f_frsize);
}

// By a link each way, alike.
void join_to_fast(TierId slow, Link link, Machine& machine) {
  for (const auto& [from, to] : {std::pair{slow, kFastTier}, std::pair{kFastTier, slow}}) {
    link.from = from;
    link.to = to;
    machine.links.push_back(link);
  }
}

Status add_file(const std::string& spill_path, Bytes capacity, Machine& machine) {
  Tier tier;
  tier.name = "file";
  tier.kind = TierKind::kFile;
  tier.path = spill_path.empty() ? default_spill_path() : spill_path;
  SLUICE_ASSIGN(const Bytes available, free_space(tier.path));
  tier.capacity = capacity > 0 ? capacity : available;
  tier.read_bandwidth = tier.write_bandwidth = kNominalFileBandwidth;
  tier.latency = kFileLatency;
  tier.addressable = false;
  join_to_fast(add_tier(tier, machine),
               {.bandwidth = kNominalFileBandwidth,
                .latency = kFileLatency,
                .interference = kFileInterference,
                .request_interference = kFileRequestInterference,
                .copied_by = CopiedBy::kDma},
               machine);
  return {};
}

// The fast tier is a node's memory too, the same one for all slow nodes.
Status add_numa(const SlowTierOptions& options, Machine& machine) {
  SLUICE_ASSIGN(NumaRequest request, parse_numa_request(options.name));
  request.slow_capacity = options.capacity;
  SLUICE_ASSIGN(const NumaTopology topology, read_numa_topology());
  SLUICE_ASSIGN(const std::vector<Tier> tiers, choose_numa_tiers(request, topology, host_machine(1).tier(kFastTier)));
  Tier& fast = machine.tiers.front();
  if (fast.kind == TierKind::kNuma && fast.node != tiers.front().node) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("--slow {}: another slow tier made memory node {} the fast one", options.name, fast.node)};
  }
  fast = tiers.front();
  const TierId slow = add_tier(tiers.back(), machine);
  for (const auto& [from, to] : {std::pair{slow, kFastTier}, std::pair{kFastTier, slow}}) {
    Link link;
    link.from = from;
    link.to = to;
    link.bandwidth = std::min(machine.tier(from).read_bandwidth, machine.tier(to).write_bandwidth);
    link.latency = machine.tier(slow).latency;
    machine.links.push_back(link);
  }
  return {};
}

// PCIe 4.0 x16 until it is measured.
constexpr BytesPerSecond kNominalGpuLink = 25 * kGB;
constexpr Seconds kGpuLinkLatency = 10e-6;

// The host's memory, of which a good part must stay pageable.
void add_pinned(Bytes capacity, Machine& machine) {
  constexpr double kPinnable = 0.75;
  Tier tier;
  tier.name = "host";
  tier.kind = TierKind::kPinned;
  tier.capacity = capacity > 0 ? capacity : static_cast<Bytes>(kPinnable * static_cast<double>(memory_capacity()));
  tier.read_bandwidth = tier.write_bandwidth = kNominalDramBandwidth;
  tier.latency = kDramLatency;
  tier.addressable = false;
  join_to_fast(add_tier(tier, machine),
               {.bandwidth = kNominalGpuLink, .latency = kGpuLinkLatency, .copied_by = CopiedBy::kDma}, machine);
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

Error not_beside_a_gpu(const std::string& name) {
  return bad_input(fmt::format("--slow {}: a GPU's memory leads to host (pinned memory) alone", name));
}

Status add_slow_tier(const SlowTierOptions& slow, const std::string& spill_path, Machine& machine) {
  if (machine.tiers.front().kind == TierKind::kGpu) {
    if (slow.name != "host") return not_beside_a_gpu(slow.name);
    add_pinned(slow.capacity, machine);
    return {};
  }
  if (slow.name == "host") return bad_input("--slow host: pinned memory is for a GPU: add --gpu");
  if (slow.name == "file") return add_file(spill_path, slow.capacity, machine);
  if (is_numa_request(slow.name)) return add_numa(slow, machine);
  const auto preset = std::ranges::find(kPresets, std::string_view(slow.name), &EmulatedPreset::name);
  if (preset == kPresets.end()) {
    return Error{ErrorCode::kBadInput, fmt::format("unknown tier '{}'; known slow tiers: {}, numa:NODE", slow.name,
                                                   fmt::join(slow_tier_names(), ", "))};
  }
  add_emulated(*preset, slow.capacity, machine);
  return {};
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
  std::vector<std::string> names{"file"};
  for (const EmulatedPreset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

std::string default_spill_path() {
  const char* const configured = std::getenv("TMPDIR");
  return configured != nullptr && *configured != '\0' ? configured : "/var/tmp";
}

Result<SlowTierRequest> parse_slow_tier(std::string_view text) {
  // A memory node's name has a colon of its own.
  const std::size_t after_name = is_numa_request(text) ? text.find(':') + 1 : 0;
  const std::size_t colon = text.find(':', after_name);
  SlowTierRequest request{std::string(text.substr(0, colon)), std::nullopt};
  if (colon == std::string_view::npos) return request;
  SLUICE_ASSIGN(request.capacity, parse_memory_size(text.substr(colon + 1)));
  if (request.capacity->resolve(kGiB) < kTensorAlignment) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("--slow {}: a tier has at least {}", text, format_bytes(kTensorAlignment))};
  }
  return request;
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

}  // namespace sluice
