// A file as a tier: capacity is what the file system has, bytes come and go by requests.
#include <fmt/format.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "sluice/memory/arena.hpp"
#include "sluice/memory/building.hpp"
#include "sluice/memory/presets.hpp"

namespace sluice::memory {
namespace {

constexpr const char* kFileName = "file";

// Until it is measured: one NVMe disk, and one small request to it.
constexpr BytesPerSecond kNominalFileBandwidth = 2e9;
constexpr Seconds kFileLatency = 100e-6;
// What compute loses to direct I/O beside it: two threads that meet at a barrier every 0.1 to 2 ms, both on one of two
// cores, took 55 us longer for every transfer of 256 KiB and 129 us for every one of 4 MiB. Whole runs agree (ResNet-50: 30 ms
// per GB in large transfers, 20 to 40 from run to run), and an LSTM's with 500 small ones. Another machine's disk cost
// 110 to 300 ms per GB, so probing replaces these (probe/probe_file.hpp). Lanes that copy in memory lose more, by the
// processors they leave to compute (probe/probe_beside_compute.hpp).
constexpr Seconds kFileInterference = 19e-12;
constexpr Seconds kFileRequestInterference = 50e-6;

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

Status add_file(const SlowTierOptions& slow, const std::string& spill_path, Machine& machine) {
  Tier tier;
  tier.name = kFileName;
  tier.kind = TierKind::kFile;
  tier.path = spill_path.empty() ? default_spill_path() : spill_path;
  SLUICE_ASSIGN(const Bytes available, free_space(tier.path));
  tier.capacity = slow.capacity > 0 ? slow.capacity : available;
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

constexpr TierTraits kFileTraits{.name = "file",
                                 .in_file = true,
                                 .names = [] { return std::vector<std::string>{kFileName}; },
                                 .is_named = [](std::string_view name) { return name == kFileName; },
                                 .add = add_file};

}  // namespace

constinit const TierKind TierKind::kFile{kFileTraits};

std::string default_spill_path() {
  const char* const configured = std::getenv("TMPDIR");
  return configured != nullptr && *configured != '\0' ? configured : "/var/tmp";
}

}  // namespace sluice::memory
