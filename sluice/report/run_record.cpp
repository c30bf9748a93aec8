#include "sluice/report/run_record.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "sluice/base/atomic_file.hpp"
#include "sluice/report/host_cpu.hpp"

namespace sluice::report {

namespace {

bool emulates_memory(const memory::Machine& machine) {
  return std::ranges::any_of(machine.tiers, &memory::Tier::emulated) ||
         std::ranges::any_of(machine.links, &memory::Link::throttled);
}

bool emulates_processors(const memory::Machine& machine) {
  return std::ranges::any_of(machine.processors, &memory::Processor::emulated);
}

}  // namespace

bool is_emulated(const memory::Machine& machine) { return emulates_memory(machine) || emulates_processors(machine); }

std::string emulation_note(const memory::Machine& machine) {
  if (!is_emulated(machine)) return "";
  if (!emulates_processors(machine)) return "slow memory emulated";
  return emulates_memory(machine) ? "slow memory and processors emulated" : "processors emulated";
}

nlohmann::json run_record(const memory::Machine& machine) {
  nlohmann::json slow_tiers = nlohmann::json::array();
  for (std::size_t i = 1; i < machine.tiers.size(); ++i) slow_tiers.push_back(machine.tiers[i].name);
  nlohmann::json links = nlohmann::json::array();
  for (const memory::Link& link : machine.links) {
    links.push_back({{"from", machine.tier(link.from).name},
                     {"to", machine.tier(link.to).name},
                     {"bandwidth", link.bandwidth},
                     {"shared_bandwidth", link.shared_bandwidth},
                     {"throttled", link.throttled}});
  }
  nlohmann::json record = {
      {"sluice", kVersion},         {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
      {"cpu", machine.cpu},         {"processor", host_cpu_json(read_host_cpu())},
      {"threads", machine.threads}, {"emulated", is_emulated(machine)},
      {"slow_tiers", slow_tiers},   {"links", links}};
  for (const memory::Processor& each : machine.processors) {
    record["processors"].push_back(
        {{"name", each.name}, {"threads", each.threads}, {"emulated", each.emulated}, {"backend", each.backend}});
  }
  return record;
}

Status write_json_file(const std::string& path, const nlohmann::json& document) {
  return write_file(path, document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace sluice::report
