#include "benchmarks/planners/kept_machines.hpp"

#include "sluice/base/as_index.hpp"

namespace sluice::benchmarks {
namespace {

constexpr double kGB = 1e9;
constexpr Bytes kPlenty = Bytes{1} << 42;

// A disk's figures, but for its bandwidth, are those of memory/presets.cpp. Reading and writing at once, a measured disk
// gave each way about three quarters.
constexpr Seconds kDiskLatency = 100e-6;
constexpr Seconds kDiskInterference = 30e-12;
constexpr double kDiskShared = 0.75;

// CXL: one expander on eight lanes of PCIe 5.0. Sun et al., "Demystifying CXL memory with genuine CXL-ready systems and
// devices" (2023): about two and a half times the latency of local memory, some 20 GB/s of reads.
constexpr BytesPerSecond kCxlRead = 20 * kGB, kCxlWrite = 16 * kGB;
constexpr Seconds kCxlLatency = 250e-9;
constexpr Seconds kCxlInterference = 20e-12;

// Optane, six modules on a socket, as in memory/presets.cpp.
constexpr BytesPerSecond kOptaneRead = 39.4 * kGB, kOptaneWrite = 13.9 * kGB;
constexpr BytesPerSecond kOptaneIn = 29 * kGB, kOptaneOut = 12 * kGB;
constexpr Seconds kOptaneLatency = 305e-9;

// The slow memory of ReDL's testbed, as in memory/presets.cpp.
constexpr BytesPerSecond kPmbd = 19 * kGB;
constexpr Seconds kPmbdLatency = 200e-9;

constexpr double kOneOfTwoCores = 0.5;  // makes the copies to memory that ops use in place

// PCIe 3.0 x16 as in memory/presets.cpp, beside compute as fast as a GPU's would be.
constexpr BytesPerSecond kPcie = 12 * kGB;
constexpr Seconds kPcieLatency = 10e-6;
constexpr double kGpuSpeed = 20;

memory::Machine host() {
  memory::Machine machine{.cpu = "two cores, kept", .threads = 2, .cache_bytes = 4 * kMiB};
  machine.tiers.push_back(
      {.name = "dram", .capacity = kPlenty, .read_bandwidth = 25 * kGB, .write_bandwidth = 18 * kGB, .latency = 90e-9});
  return machine;
}

void add_links(memory::Machine& machine, const memory::Link& in, BytesPerSecond out_bandwidth) {
  memory::Link out = in;
  std::swap(out.from, out.to);
  out.bandwidth = out_bandwidth;
  if (in.shared_bandwidth > 0) out.shared_bandwidth = out_bandwidth * in.shared_bandwidth / in.bandwidth;
  machine.links.push_back(in);
  machine.links.push_back(out);
}

void add_disk(memory::Machine& machine, BytesPerSecond bandwidth) {
  machine.tiers.push_back({.name = "disk",
                           .kind = memory::TierKind::kFile,
                           .capacity = kPlenty,
                           .read_bandwidth = bandwidth,
                           .write_bandwidth = bandwidth,
                           .granule = 4 * kKiB,
                           .latency = kDiskLatency,
                           .addressable = false});
  const memory::Link in{.from = as_id<memory::TierId>(machine.tiers.size()) - 1,
                        .bandwidth = bandwidth,
                        .shared_bandwidth = kDiskShared * bandwidth,
                        .latency = kDiskLatency,
                        .interference = kDiskInterference,
                        .copied_by = memory::CopiedBy::kDma};
  add_links(machine, in, bandwidth);
}

void add_memory(memory::Machine& machine, memory::Tier tier, Seconds latency, Seconds interference) {
  const BytesPerSecond read = tier.read_bandwidth, write = tier.write_bandwidth;
  machine.tiers.push_back(std::move(tier));
  const memory::Link in{.from = as_id<memory::TierId>(machine.tiers.size()) - 1,
                        .bandwidth = read,
                        .latency = latency,
                        .interference = interference,
                        .copied_by = memory::CopiedBy::kDma};
  add_links(machine, in, write);
}

memory::Tier cxl(Bytes capacity) {
  return {.name = "cxl",
          .kind = memory::TierKind::kEmulated,
          .capacity = capacity,
          .read_bandwidth = kCxlRead,
          .write_bandwidth = kCxlWrite,
          .latency = kCxlLatency,
          .provenance = memory::Provenance::kEmulated};
}

memory::Machine with_disk(BytesPerSecond bandwidth) {
  memory::Machine machine = host();
  add_disk(machine, bandwidth);
  return machine;
}

memory::Machine with_cxl() {
  memory::Machine machine = host();
  add_memory(machine, cxl(kPlenty), kCxlLatency, kCxlInterference);
  return machine;
}

// Memory that ops use in place. The processors make the copies: one of two cores is at it while a link is busy.
memory::Machine with_memory_in_place(memory::Tier tier, BytesPerSecond in_bandwidth, BytesPerSecond out_bandwidth) {
  memory::Machine machine = host();
  const memory::Link in{
      .from = 1, .bandwidth = in_bandwidth, .shared_bandwidth = in_bandwidth / 2, .latency = tier.latency};
  tier.kind = memory::TierKind::kEmulated;
  tier.capacity = kPlenty;
  tier.provenance = memory::Provenance::kEmulated;
  machine.tiers.push_back(std::move(tier));
  add_links(machine, in, out_bandwidth);
  for (memory::Link& link : machine.links) link.interference = kOneOfTwoCores / link.bandwidth;
  return machine;
}

memory::Machine with_optane() {
  return with_memory_in_place({.name = "optane",
                               .read_bandwidth = kOptaneRead,
                               .write_bandwidth = kOptaneWrite,
                               .granule = 256,
                               .latency = kOptaneLatency},
                              kOptaneIn, kOptaneOut);
}

memory::Machine with_pmbd() {
  return with_memory_in_place(
      {.name = "pmbd", .read_bandwidth = kPmbd, .write_bandwidth = kPmbd, .latency = kPmbdLatency}, kPmbd, kPmbd);
}

memory::Machine with_pcie() {
  memory::Machine machine = host();
  add_memory(machine,
             {.name = "host",
              .kind = memory::TierKind::kEmulated,
              .capacity = kPlenty,
              .read_bandwidth = kPcie,
              .write_bandwidth = kPcie,
              .addressable = false,
              .provenance = memory::Provenance::kEmulated},
             kPcieLatency, 0);
  return machine;
}

memory::Machine with_cxl_and_disk(Bytes cxl_bytes) {
  memory::Machine machine = host();
  add_memory(machine, cxl(cxl_bytes), kCxlLatency, kCxlInterference);
  add_disk(machine, 2 * kGB);
  return machine;
}

}  // namespace

std::vector<KeptMachine> kept_machines(Bytes whole) {
  return {{"disk of 2 GB/s", with_disk(2 * kGB)},
          {"disk of 4 GB/s", with_disk(4 * kGB)},
          {"CXL memory", with_cxl()},
          {"PCIe, a GPU's compute", with_pcie(), kGpuSpeed},
          {"a quarter in CXL, then disk", with_cxl_and_disk(align_up(whole / 4, memory::kBlockAlignment))},
          {"Optane memory", with_optane()},
          {"PMBD", with_pmbd()}};
}

}  // namespace sluice::benchmarks
