// Plans sought anew while training ran (train/replanning.hpp), as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "sluice/memory/machine.hpp"
#include "sluice/train/replanning.hpp"

namespace sluice::report {

// "ops 1.31 times slower, file -> dram 1.80 times slower": what is off by a tenth or more.
std::string describe_drift(const memory::Machine& machine, const sim::Drift& drift);

// A line when a plan is sought, and one when it is there.
std::string describe_search(const memory::Machine& machine, const train::Replan& replan);
std::string describe_outcome(const train::Replan& replan);

nlohmann::json replans_json(const memory::Machine& machine, std::span<const train::Replan> replans);

}  // namespace sluice::report
