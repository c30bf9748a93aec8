#include "sluice/probe/probe.hpp"

#include <algorithm>

#include "sluice/memory/processors.hpp"
#include "sluice/probe/gpu_probe.hpp"
#include "sluice/probe/probe_beside_compute.hpp"
#include "sluice/probe/probe_file.hpp"
#include "sluice/probe/probe_memory.hpp"

namespace sluice {
namespace {

void impose(Link& link, BytesPerSecond measured, Seconds latency) {
  if (link.throttled) {
    link.bandwidth = std::min(link.bandwidth, measured);
    return;
  }
  link.bandwidth = measured;
  link.latency = latency;
  link.provenance = Provenance::kMeasured;
}

// What one direction has left while the other moves `rate`: on the straight line between alone (nothing the other way)
// and both at once (`most` the other way). Throttles take less than that.
BytesPerSecond left_beside(BytesPerSecond alone, BytesPerSecond shared, BytesPerSecond rate, BytesPerSecond most) {
  return alone - std::min(1.0, rate / most) * (alone - shared);
}

Status measure_file_tier(Machine& machine, const std::vector<LinkId>& links, ProbeLength length) {
  const FileProbing& how = length == ProbeLength::kFull ? kFullFileProbing : kShortFileProbing;
  SLUICE_ASSIGN(const std::vector<FileLinkFigures> figures, measure_file_links(machine, links, how));
  const auto link = [&](std::size_t i) -> Link& { return machine.links[static_cast<std::size_t>(links[i])]; };
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

void set_figures(const MemoryBandwidths& measured, Tier& tier) {
  tier.read_bandwidth = measured.read;
  tier.write_bandwidth = measured.write;
  tier.provenance = Provenance::kMeasured;
}

void set_dram_tiers(const MemoryBandwidths& measured, Machine& machine) {
  for (Tier& tier : machine.tiers) {
    if (tier.kind->figures == FiguresFrom::kHostMemory) set_figures(measured, tier);
  }
}

// What ops reach in nodes, unless the firmware has said that.
Status measure_numa_tiers(Machine& machine) {
  for (Tier& tier : machine.tiers) {
    if (tier.kind->figures != FiguresFrom::kTheTier || tier.provenance == Provenance::kFirmware) continue;
    SLUICE_ASSIGN(const MemoryBandwidths measured, measure_memory(tier, machine.threads));
    set_figures(measured, tier);
  }
  return {};
}

// Lanes that copy do so with the processors and the memory that compute uses.
Status measure_copies(Machine& machine, const std::vector<LinkId>& links, ProbeLength length) {
  constexpr int kRounds = 5, kShortRounds = 2;
  const auto link = [&](std::size_t i) -> Link& { return machine.links[static_cast<std::size_t>(links[i])]; };
  const auto is_inward = [&](std::size_t i) { return link(i).to == kFastTier; };
  const Tier& slow = machine.tier(is_inward(0) ? link(0).from : link(0).to);
  EmulatedCopies emulated;
  for (std::size_t i = 0; i < links.size(); ++i) {
    (is_inward(i) ? emulated.inward : emulated.outward) = held_bandwidth(link(i));
  }
  SLUICE_ASSIGN(const CopyBesideCompute measured,
                measure_copy_beside_compute(slow, machine.tier(kFastTier), machine.threads, emulated,
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
bool touches(const Machine& machine, const Link& link, bool TierTraits::*trait) {
  return (*machine.tier(link.from).kind).*trait || (*machine.tier(link.to).kind).*trait;
}

Status measure_link(Machine& machine, const std::vector<LinkId>& links, ProbeLength length) {
  const Link& link = machine.link(links.front());
  if (touches(machine, link, &TierTraits::in_file)) return measure_file_tier(machine, links, length);
  if (touches(machine, link, &TierTraits::device_reaches)) return measure_gpu_links(machine, links);
  return measure_copies(machine, links, length);
}

Status measure_fast_memory(Machine& machine) {
  if (machine.tier(kFastTier).kind->figures == FiguresFrom::kTheDevice)
    return measure_gpu_memory(machine.tiers.front());
  SLUICE_ASSIGN(const MemoryBandwidths memory, measure_memory(machine.tier(kFastTier), machine.threads));
  set_dram_tiers(memory, machine);
  return {};
}

}  // namespace

Seconds usual_probe_seconds(const Machine& machine) {
  constexpr Seconds kMemory = 0.5, kOfFile = 9, kOfCopies = 1.5;  // the windows of probe_*.cpp, and what is around them
  Seconds seconds = kMemory;
  for (const Tier& tier : machine.tiers) seconds += tier.kind->figures == FiguresFrom::kTheTier ? kMemory : 0;
  for (LinkId id = 0; id < static_cast<LinkId>(machine.links.size()); ++id) {
    const auto back = machine.link_back(id);
    if ((back && *back < id) || joins_slow_tiers(machine.link(id))) continue;
    seconds += touches(machine, machine.link(id), &TierTraits::in_file) ? kOfFile : kOfCopies;
  }
  return seconds;
}

Status measure_links(Machine& machine, ProbeLength length) {
  SLUICE_RETURN_IF_ERROR(measure_fast_memory(machine));
  SLUICE_RETURN_IF_ERROR(measure_numa_tiers(machine));
  for (LinkId id = 0; id < static_cast<LinkId>(machine.links.size()); ++id) {
    const auto back = machine.link_back(id);
    if (back && *back < id) continue;  // measured with the link back
    if (joins_slow_tiers(machine.link(id))) continue;
    SLUICE_RETURN_IF_ERROR(measure_link(machine, back ? std::vector{id, *back} : std::vector{id}, length));
  }
  for (Link& link : machine.links) {
    if (joins_slow_tiers(link)) link = link_of_owned_memory(machine, link.from, link.to);
  }
  return {};
}

}  // namespace sluice
