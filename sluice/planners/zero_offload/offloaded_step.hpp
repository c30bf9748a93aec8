// Where each tensor of a step is whose updates are a host's: what the passes use on the device, what the host uses in its
// memory, and what does not fit there in a file behind it (states_on_file.hpp).
#pragma once

#include <optional>
#include <vector>

#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/slow_tier.hpp"

namespace sluice::planners {

struct Host {
  ProcessorId processor = 1;
  SlowTier tier;                 // its memory
  std::optional<SlowTier> file;  // behind it: links between that memory and the file; nothing where there is none
};

// `request` is for the graph whose updates run on `host`, in the order in which they are to run. Everything that the host
// uses is in its memory where that packs; only where it does not, and there is a file, some states are there. kInfeasible
// and kNoneFound say which tier is too small; kUnsupported, which tensor goes to and fro.
Result<plan::Plan> plan_offloaded_step(const PlanRequest& request, const Host& host);

}  // namespace sluice::planners
