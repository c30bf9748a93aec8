#include "sluice/exec/transfer/probe.hpp"

#include <algorithm>

#include "sluice/exec/transfer/probe_file.hpp"
#include "sluice/exec/transfer/probe_memory.hpp"

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

// What the disk leaves to one direction while it moves `rate` in the other: on the straight line between alone (nothing
// the other way) and both at once (all the other way that the disk would take). Throttles take less than all.
BytesPerSecond left_beside(const FileLinkFigures& own, const FileLinkFigures& other, BytesPerSecond rate) {
  return own.alone - std::min(1.0, rate / other.shared) * (own.alone - own.shared);
}

Status measure_file_tier(Machine& machine, const std::vector<LinkId>& links) {
  SLUICE_ASSIGN(const std::vector<FileLinkFigures> figures, measure_file_links(machine, links));
  const auto link = [&](std::size_t i) -> Link& { return machine.links[static_cast<std::size_t>(links[i])]; };
  for (std::size_t i = 0; i < links.size(); ++i) {
    link(i).request_bytes = figures[i].request_bytes;
    link(i).queue_depth = figures[i].queue_depth;
    impose(link(i), figures[i].alone, figures[i].latency);
  }
  for (std::size_t i = 0; links.size() == 2 && i < 2; ++i) {
    const BytesPerSecond left = left_beside(figures[i], figures[1 - i], link(1 - i).bandwidth);
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
    if (tier.kind == TierKind::kDram) set_figures(measured, tier);
  }
}

// The link, and what ops reach in the node that it leads from, unless the firmware has said that.
Status measure_numa_link(Machine& machine, Link& link) {
  Tier& from = machine.tiers[static_cast<std::size_t>(link.from)];
  SLUICE_ASSIGN(const MemoryBandwidths measured, measure_memory(from, machine.tier(link.to), machine.threads));
  if (from.provenance != Provenance::kFirmware) set_figures(measured, from);
  impose(link, measured.copy, link.latency);
  return {};
}

bool touches(const Machine& machine, const Link& link, TierKind kind) {
  return machine.tier(link.from).kind == kind || machine.tier(link.to).kind == kind;
}

}  // namespace

Status measure_links(Machine& machine) {
  const Tier& fast = machine.tier(kFastTier);
  SLUICE_ASSIGN(const MemoryBandwidths memory, measure_memory(fast, fast, machine.threads));
  set_dram_tiers(memory, machine);
  for (LinkId id = 0; id < static_cast<LinkId>(machine.links.size()); ++id) {
    Link& link = machine.links[static_cast<std::size_t>(id)];
    const bool file = touches(machine, link, TierKind::kFile);
    const auto back = machine.link_back(id);
    if (!file && touches(machine, link, TierKind::kNuma)) {
      SLUICE_RETURN_IF_ERROR(measure_numa_link(machine, link));
    } else if (!file) {
      impose(link, memory.copy, link.latency);
    } else if (!back) {
      SLUICE_RETURN_IF_ERROR(measure_file_tier(machine, {id}));
    } else if (*back > id) {  // else measured with the link back
      SLUICE_RETURN_IF_ERROR(measure_file_tier(machine, {id, *back}));
    }
  }
  return {};
}

}  // namespace sluice
