#include "sluice/report/replans.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::report {
namespace {

constexpr double kWorthSaying = 1.1;

std::string link_name(const memory::Machine& machine, std::size_t id) {
  return fmt::format("{} -> {}", machine.tier(machine.links[id].from).name, machine.tier(machine.links[id].to).name);
}

}  // namespace

std::string describe_drift(const memory::Machine& machine, const sim::Drift& drift) {
  std::string text;
  const auto add = [&](const std::string& what, double factor) {
    if (std::max(factor, 1 / factor) < kWorthSaying) return;
    text += fmt::format("{}{} {:.2f} times {}", text.empty() ? "" : ", ", what, std::max(factor, 1 / factor),
                        factor > 1 ? "slower" : "faster");
  };
  add("ops", drift.compute);
  for (std::size_t id = 0; id < drift.links.size(); ++id) add(link_name(machine, id), drift.links[id]);
  return text;
}

std::string describe_search(const memory::Machine& machine, const train::Replan& replan) {
  if (replan.estimated) {
    const std::string off = describe_drift(machine, replan.drift);
    return fmt::format("step {:>6}  measured by steps now{}{}: planning again meanwhile", replan.step + 1,
                       off.empty() ? "" : ", ", off.empty() ? off : off + " than estimated");
  }
  return fmt::format("step {:>6}  {} than planned for: planning again meanwhile", replan.step + 1,
                     describe_drift(machine, replan.drift));
}

std::string describe_outcome(const train::Replan& replan) {
  const std::string after = fmt::format("planned again in {}", format_seconds(replan.planning_seconds));
  if (!replan.failure.empty()) return fmt::format("{}: the plan stays, because {}", after, replan.failure);
  const std::string seconds = fmt::format("{} where the plan before would take {}", format_seconds(replan.new_seconds),
                                          format_seconds(replan.present_seconds));
  if (!replan.taken) {
    return fmt::format("{}: the plan stays, because another gains too little in the rest of the run ({})", after,
                       seconds);
  }
  return fmt::format("{}: another plan runs from now on, predicted {}", after, seconds);
}

nlohmann::json replans_json(const memory::Machine& machine, std::span<const train::Replan> replans) {
  nlohmann::json list = nlohmann::json::array();
  for (const train::Replan& each : replans) {
    nlohmann::json links = nlohmann::json::object();
    for (std::size_t id = 0; id < each.drift.links.size(); ++id) links[link_name(machine, id)] = each.drift.links[id];
    list.push_back({{"after_step", each.step + 1},
                    {"reason", each.estimated ? "estimates" : "drift"},
                    {"drift", {{"ops", each.drift.compute}, {"links", links}}},
                    {"planning_ms", each.planning_seconds * 1e3},
                    {"change_ms", each.change_seconds * 1e3},
                    {"present_predicted_ms", each.present_seconds * 1e3},
                    {"new_predicted_ms", each.new_seconds * 1e3},
                    {"taken", each.taken},
                    {"failure", each.failure}});
  }
  return list;
}

}  // namespace sluice::report
