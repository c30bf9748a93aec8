#include "sluice/report/step/overlap.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::report {
namespace {

std::string processor_name(const memory::Machine& machine, std::size_t processor) {
  return machine.processors.empty() ? "compute" : machine.processors.at(processor).name;
}

std::string link_name(const memory::Machine& machine, const memory::Link& link) {
  return fmt::format("{} -> {}", machine.tier(link.from).name, machine.tier(link.to).name);
}

}  // namespace

Overlap overlap_of(const memory::Machine& machine, const program::Program& program, const program::StepTimes& times,
                   const sim::TimeBreakdown& parts) {
  Overlap overlap{
      .step = times.step_seconds, .transfer_wait = parts.exposed_transfer, .processor_wait = parts.processor_wait};
  const std::vector<std::vector<graph::OpIndex>> processors = program::compute_lanes(program);
  for (std::size_t processor = 0; processor < processors.size(); ++processor) {
    BusyLane lane{processor_name(machine, processor)};
    for (const graph::OpIndex op : processors[processor])
      lane.seconds += times.ops[as_index(op)].end - times.ops[as_index(op)].begin;
    overlap.lanes.push_back(std::move(lane));
  }
  for (std::size_t link = 0; link < program.lanes.size(); ++link) {
    if (program.lanes[link].empty()) continue;
    BusyLane lane{link_name(machine, machine.links.at(link))};
    for (const program::TransferIndex each : program.lanes[link]) {
      lane.seconds += times.transfers[as_index(each)].end - times.transfers[as_index(each)].begin;
    }
    overlap.lanes.push_back(std::move(lane));
  }
  return overlap;
}

std::string describe_overlap(const Overlap& overlap) {
  const auto share = [&](Seconds seconds) { return 100 * seconds / overlap.step; };
  std::string text;
  for (const BusyLane& lane : overlap.lanes) {
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", lane.name, share(lane.seconds));
  }
  return fmt::format("{}; {} waits {:.0f} % for transfers, {:.0f} % for other processors", text,
                     overlap.lanes.front().name, share(overlap.transfer_wait), share(overlap.processor_wait));
}

std::string_view critical_lane(const Overlap& overlap) {
  return std::ranges::max_element(overlap.lanes, {}, &BusyLane::seconds)->name;
}

nlohmann::json overlap_json(const Overlap& overlap) {
  nlohmann::json lanes = nlohmann::json::object();
  for (const BusyLane& lane : overlap.lanes) lanes[lane.name] = lane.seconds * 1e3;
  return {{"busy_ms", lanes},
          {"critical", critical_lane(overlap)},
          {"transfer_wait_ms", overlap.transfer_wait * 1e3},
          {"processor_wait_ms", overlap.processor_wait * 1e3}};
}

}  // namespace sluice::report
