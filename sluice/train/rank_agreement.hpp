// What the processes of one training run agree on while it runs (exec/ranks). All ranks make the same calls in the same
// order, from one thread each. Errors, besides those named: those of the ranks' own communication.
#pragma once

#include "sluice/kernels/ranks.hpp"
#include "sluice/policies/run.hpp"

namespace sluice::train {

// kMismatch where this rank goes on from another step than the first.
Status check_same_step(kernels::Ranks& ranks, std::int64_t first_step);

// What the first rank's steps obey becomes everybody's.
Status share_run(kernels::Ranks& ranks, const graph::Graph& graph, policies::Run& run);

// Whether any rank says so; `ranks` may be nullptr.
Result<bool> any_rank(kernels::Ranks* ranks, bool says);

}  // namespace sluice::train
