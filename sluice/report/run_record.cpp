#include "sluice/report/run_record.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "sluice/base/atomic_file.hpp"
#include "sluice/report/host_cpu.hpp"

namespace sluice {

bool is_emulated(const Machine& machine) {
  return std::ranges::any_of(machine.tiers, &Tier::emulated) || std::ranges::any_of(machine.links, &Link::throttled);
}

nlohmann::json run_record(const Machine& machine) {
  nlohmann::json slow_tiers = nlohmann::json::array();
  for (std::size_t i = 1; i < machine.tiers.size(); ++i) slow_tiers.push_back(machine.tiers[i].name);
  nlohmann::json links = nlohmann::json::array();
  for (const Link& link : machine.links) {
    links.push_back({{"from", machine.tier(link.from).name},
                     {"to", machine.tier(link.to).name},
                     {"bandwidth", link.bandwidth},
                     {"shared_bandwidth", link.shared_bandwidth},
                     {"throttled", link.throttled}});
  }
  return {{"sluice", kVersion},         {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
          {"cpu", machine.cpu},         {"processor", host_cpu_json(read_host_cpu())},
          {"threads", machine.threads}, {"emulated", is_emulated(machine)},
          {"slow_tiers", slow_tiers},   {"links", links}};
}

Status write_json_file(const std::string& path, const nlohmann::json& document) {
  return write_file(path, document.dump(2) + "\n");
}

}  // namespace sluice
