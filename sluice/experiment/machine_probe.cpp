#include "sluice/experiment/machine_probe.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include "sluice/probe/probe.hpp"

namespace sluice::experiment {
namespace {

// Equal for equal questions: the same tiers on the same devices with the same imposed bandwidths.
std::string question_of(const memory::Machine& machine) {
  std::string text;
  for (const memory::Tier& tier : machine.tiers) {
    struct stat info {};
    const bool known = !tier.path.empty() && ::stat(tier.path.c_str(), &info) == 0;
    text += fmt::format("{}({},{:.0f},{:.0f})@{} ", tier.name, to_string(tier.kind), tier.read_bandwidth,
                        tier.write_bandwidth, known ? info.st_dev : 0);
  }
  for (const memory::Link& link : machine.links) {
    text +=
        fmt::format("{}->{}({}) ", link.from, link.to, link.throttled ? fmt::format("{:.0f}", link.bandwidth) : "free");
  }
  return text;
}

profile::LinkMeasurement measurement_of(const memory::Link& link) {
  return {.bandwidth = link.bandwidth,
          .latency = link.latency,
          .request_bytes = link.request_bytes,
          .queue_depth = link.queue_depth,
          .interference = link.interference,
          .shared_bandwidth = link.shared_bandwidth,
          .request_interference = link.request_interference};
}

// Says what the figures are of, so that those of earlier versions, of which one or the other was not measured, are not
// found.
std::string link_key(const std::string& question, std::size_t link) {
  return fmt::format("{}link {} sustained, shared and its cost to compute", question, link);
}

void remember(const memory::Machine& machine, const std::string& question, profile::ProfileCache& cache) {
  for (std::size_t i = 0; i < machine.tiers.size(); ++i) {
    cache.put_link(fmt::format("{}tier {} read", question, i), {.bandwidth = machine.tiers[i].read_bandwidth});
    cache.put_link(fmt::format("{}tier {} write", question, i), {.bandwidth = machine.tiers[i].write_bandwidth});
  }
  for (std::size_t i = 0; i < machine.links.size(); ++i) {
    cache.put_link(link_key(question, i), measurement_of(machine.links[i]));
  }
}

bool recall(memory::Machine& machine, const std::string& question, const profile::ProfileCache& cache) {
  memory::Machine recalled = machine;
  for (std::size_t i = 0; i < machine.tiers.size(); ++i) {
    const auto read = cache.find_link(fmt::format("{}tier {} read", question, i));
    const auto write = cache.find_link(fmt::format("{}tier {} write", question, i));
    if (!read || !write) return false;
    memory::Tier& tier = recalled.tiers[i];
    tier.read_bandwidth = read->bandwidth;
    tier.write_bandwidth = write->bandwidth;
    const bool measured = !tier.emulated() && tier.provenance != memory::Provenance::kFirmware;
    if (measured) tier.provenance = memory::Provenance::kMeasured;
  }
  for (std::size_t i = 0; i < machine.links.size(); ++i) {
    const auto found = cache.find_link(link_key(question, i));
    if (!found || found->is_of_tier()) return false;
    memory::Link& link = recalled.links[i];
    link.bandwidth = found->bandwidth;
    link.latency = found->latency;
    link.request_bytes = found->request_bytes;
    link.queue_depth = found->queue_depth;
    const memory::TierTraits &from = *machine.tier(link.from).kind, &to = *machine.tier(link.to).kind;
    const bool of_a_file = from.in_file || to.in_file;
    // An emulated device's is given.
    if (of_a_file || from.device_reaches || link.copied_by == memory::CopiedBy::kProcessor)
      link.interference = found->interference;
    link.shared_bandwidth = found->shared_bandwidth;
    if (of_a_file) link.request_interference = found->request_interference;
    if (link.provenance != memory::Provenance::kEmulated) link.provenance = memory::Provenance::kMeasured;
  }
  machine = recalled;
  return true;
}

// Its figures never pass for those of a full measurement.
std::string short_question_of(const memory::Machine& machine) { return "a short look at " + question_of(machine); }

}  // namespace

Result<bool> look_at_machine(memory::Machine& machine, profile::ProfileCache& cache) {
  if (recall(machine, question_of(machine), cache)) return false;
  const std::string question = short_question_of(machine);
  if (recall(machine, question, cache)) return true;
  SLUICE_RETURN_IF_ERROR(probe::measure_links(machine, probe::ProbeLength::kShort));
  remember(machine, question, cache);
  static_cast<void>(cache.save());
  return true;
}

Status probe_machine(memory::Machine& machine, profile::ProfileCache& cache, Probe probe) {
  const std::string question = question_of(machine);
  if (probe == Probe::kUseCache && recall(machine, question, cache)) {
    spdlog::debug("figures of {} links are from {}", machine.links.size(), cache.path().string());
    return {};
  }
  spdlog::debug("measuring {} tiers and {} links, about {:.0f} s", machine.tiers.size(), machine.links.size(),
                probe::usual_probe_seconds(machine));
  SLUICE_RETURN_IF_ERROR(probe::measure_links(machine));
  remember(machine, question, cache);
  static_cast<void>(cache.save());  // a cache that cannot be written costs time next time, nothing else
  return {};
}

}  // namespace sluice::experiment
