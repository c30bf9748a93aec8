// Which processor runs which ops, as a user says it: "host:update" gives all ops of the update phase to the processor
// `host`. What nobody is given stays with the main processor.
#pragma once

#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/graph/graph.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::train {

// By op, for Workload::choices; a later request overrides an earlier one. kBadInput for a processor that the machine
// has not, or a phase that is none of forward, backward and update; kUnsupported for an op that its backend cannot run.
Result<std::vector<graph::OpChoice>> choose_processors(const graph::Graph& graph, const memory::Machine& machine,
                                                       const std::vector<std::string>& requests);

}  // namespace sluice::train
