// How busy every processor and every link was in a step, predicted or measured, and what the main processor waited for:
// whether transfers and other processors' ops are hidden behind its own.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/memory/machine.hpp"
#include "sluice/program/program.hpp"
#include "sluice/program/step_times.hpp"
#include "sluice/sim/time_breakdown.hpp"

namespace sluice::report {

struct BusyLane {
  std::string name;     // "device", "dram -> pcie3"
  Seconds seconds = 0;  // of the step
};

struct Overlap {
  Seconds step = 0;
  std::vector<BusyLane> lanes;  // processors, then links that carried anything
  Seconds transfer_wait = 0;    // of the main processor
  Seconds processor_wait = 0;
};

Overlap overlap_of(const memory::Machine& machine, const program::Program& program, const program::StepTimes& times,
                   const sim::TimeBreakdown& parts);

// "device 81 %, host 35 %, dram -> pcie3 12 % of the step; device waits 4 % for transfers, 9 % for other processors"
std::string describe_overlap(const Overlap& overlap);
std::string_view critical_lane(const Overlap& overlap);  // the one that was busy longest
nlohmann::json overlap_json(const Overlap& overlap);     // milliseconds

}  // namespace sluice::report
