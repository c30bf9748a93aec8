#include "sluice/probe/probe.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/processors.hpp"
#include "sluice/probe/gpu_probe.hpp"
#include "sluice/probe/probe_beside_compute.hpp"
#include "sluice/probe/probe_file.hpp"
#include "sluice/probe/probe_memory.hpp"

namespace sluice::probe {
namespace {

void impose(memory::Link& link, BytesPerSecond measured, Seconds latency) {
  if (link.throttled) {
    link.bandwidth = std::min(link.bandwidth, measured);
    return;
  }
  link.bandwidth = measured;
  link.latency = latency;
  link.provenance = memory::Provenance::kMeasured;
}

// What one direction has left while the other moves `rate`: on the straight line between alone (nothing the other way)
// and both at once (`most` the other way). Throttles take less than that.
BytesPerSecond left_beside(BytesPerSecond alone, BytesPerSecond shared, BytesPerSecond rate, BytesPerSecond most) {
  return alone - std::min(1.0, rate / most) * (alone - shared);
}

Status measure_file_tier(memory::Machine& machine, const std::vector<memory::LinkId>& links, ProbeLength length) {
  const FileProbing& how = length == ProbeLength::kFull ? kFullFileProbing : kShortFileProbing;
  SLUICE_ASSIGN(const std::vector<FileLinkFigures> figures, measure_file_links(machine, links, how));
  const auto link = [&](std::size_t i) -> memory::Link& { return machine.links[as_index(links[i])]; };
  for (std::size_t i = 0; i < links.size(); ++i) {
    link(i).request_bytes = figures[i].request_bytes;
    link(i).queue_depth = figures[i].queue_depth;
    link(i).interference = figures[i].lost_per_byte;
    link(i).request_interference = figures[i].lost_per_request;
    impose(link(i), figures[i].alone, figures[i].latency);
  }
  for (std::size_t i = 0; links.size() == 2 && i < 2; ++i) {
    const BytesPerSecond left =
        left_beside(figures[i].alone, figures[i].shared, link(1 - i).bandwidth, figures[1 - i].shared);
    link(i).shared_bandwidth = std::min(link(i).bandwidth, left);
  }
  return {};
}

void set_figures(const MemoryBandwidths& measured, memory::Tier& tier) {
  tier.read_bandwidth = measured.read;
  tier.write_bandwidth = measured.write;
  tier.provenance = memory::Provenance::kMeasured;
}

void set_dram_tiers(const MemoryBandwidths& measured, memory::Machine& machine) {
  for (memory::Tier& tier : machine.tiers) {
    if (tier.kind->figures == memory::FiguresFrom::kHostMemory) set_figures(measured, tier);
  }
}

// What ops reach in nodes, unless the firmware has said that.
Status measure_numa_tiers(memory::Machine& machine) {
  for (memory::Tier& tier : machine.tiers) {
    if (tier.kind->figures != memory::FiguresFrom::kTheTier || tier.provenance == memory::Provenance::kFirmware)
      continue;
    SLUICE_ASSIGN(const MemoryBandwidths measured, measure_memory(tier, machine.threads));
    set_figures(measured, tier);
  }
  return {};
}

// Lanes that copy do so with the processors and the memory that compute uses.
Status measure_copies(memory::Machine& machine, const std::vector<memory::LinkId>& links, ProbeLength length) {
  constexpr int kRounds = 5, kShortRounds = 2;
  const auto link = [&](std::size_t i) -> memory::Link& { return machine.links[as_index(links[i])]; };
  const auto is_inward = [&](std::size_t i) { return link(i).to == memory::kFastTier; };
  const memory::Tier& slow = machine.tier(is_inward(0) ? link(0).from : link(0).to);
  EmulatedCopies emulated;
  for (std::size_t i = 0; i < links.size(); ++i) {
    (is_inward(i) ? emulated.inward : emulated.outward) = memory::held_bandwidth(link(i));
  }
  SLUICE_ASSIGN(const CopyBesideCompute measured,
                measure_copy_beside_compute(slow, machine.tier(memory::kFastTier), machine.threads, emulated,
                                            length == ProbeLength::kFull ? kRounds : kShortRounds));
  const auto lane = [&](std::size_t i) { return is_inward(i) ? measured.inward : measured.outward; };
  for (std::size_t i = 0; i < links.size(); ++i) {
    impose(link(i), lane(i).alone, link(i).latency);
    link(i).interference = lane(i).lost_per_byte;
  }
  for (std::size_t i = 0; links.size() == 2 && i < 2; ++i) {
    const BytesPerSecond left = left_beside(lane(i).alone, lane(i).shared, link(1 - i).bandwidth, lane(1 - i).shared);
    link(i).shared_bandwidth = std::min(link(i).bandwidth, left);
  }
  return {};
}

// Whether one of its ends has the trait.
bool touches(const memory::Machine& machine, const memory::Link& link, bool memory::TierTraits::*trait) {
  return (*machine.tier(link.from).kind).*trait || (*machine.tier(link.to).kind).*trait;
}

Status measure_link(memory::Machine& machine, const std::vector<memory::LinkId>& links, ProbeLength length) {
  const memory::Link& link = machine.link(links.front());
  if (touches(machine, link, &memory::TierTraits::in_file)) return measure_file_tier(machine, links, length);
  if (touches(machine, link, &memory::TierTraits::device_reaches)) return measure_gpu_links(machine, links);
  return measure_copies(machine, links, length);
}

Status measure_fast_memory(memory::Machine& machine) {
  if (machine.tier(memory::kFastTier).kind->figures == memory::FiguresFrom::kTheDevice)
    return measure_gpu_memory(machine.tiers.front());
  SLUICE_ASSIGN(const MemoryBandwidths memory, measure_memory(machine.tier(memory::kFastTier), machine.threads));
  set_dram_tiers(memory, machine);
  return {};
}

}  // namespace

Seconds usual_probe_seconds(const memory::Machine& machine) {
  constexpr Seconds kMemory = 0.5, kOfFile = 9, kOfCopies = 1.5;  // the windows of probe_*.cpp, and what is around them
  Seconds seconds = kMemory;
  for (const memory::Tier& tier : machine.tiers)
    seconds += tier.kind->figures == memory::FiguresFrom::kTheTier ? kMemory : 0;
  for (memory::LinkId id = 0; id < as_id<memory::LinkId>(machine.links.size()); ++id) {
    const auto back = machine.link_back(id);
    if ((back && *back < id) || memory::joins_slow_tiers(machine.link(id))) continue;
    seconds += touches(machine, machine.link(id), &memory::TierTraits::in_file) ? kOfFile : kOfCopies;
  }
  return seconds;
}

Status measure_links(memory::Machine& machine, ProbeLength length) {
  SLUICE_RETURN_IF_ERROR(measure_fast_memory(machine));
  SLUICE_RETURN_IF_ERROR(measure_numa_tiers(machine));
  for (memory::LinkId id = 0; id < as_id<memory::LinkId>(machine.links.size()); ++id) {
    const auto back = machine.link_back(id);
    if (back && *back < id) continue;  // measured with the link back
    if (memory::joins_slow_tiers(machine.link(id))) continue;
    SLUICE_RETURN_IF_ERROR(measure_link(machine, back ? std::vector{id, *back} : std::vector{id}, length));
  }
  for (memory::Link& link : machine.links) {
    if (memory::joins_slow_tiers(link)) link = memory::link_of_owned_memory(machine, link.from, link.to);
  }
  return {};
}

}  // namespace sluice::probe
