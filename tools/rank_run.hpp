// What the processes of one training run agree on, where `mpirun` has started several (sluice/exec/ranks).
#pragma once

#include <memory>

#include "sluice/kernels/ranks.hpp"
#include "sluice/policies/run.hpp"
#include "tools/options.hpp"
#include "tools/train_arguments.hpp"

namespace sluice::cli {

// Tells the arguments how many ranks were started together (nullptr: one), and leaves what is printed and written to the
// first. kBadInput: --ranks says otherwise, or an option does not go with several.
Status settle_ranks(kernels::Ranks* ranks, TrainArguments& arguments);

// kMismatch where a rank was started with other settings than the first, or goes on from another step.
Status check_same_work(kernels::Ranks& ranks, const TrainArguments& arguments, const train::Workload& workload);
Status check_same_step(kernels::Ranks& ranks, std::int64_t first_step);

// What the first rank's steps obey becomes everybody's.
Status share_run(kernels::Ranks& ranks, const graph::Graph& graph, policies::Run& run);

// Whether any rank says so; `ranks` may be nullptr.
Result<bool> any_rank(kernels::Ranks* ranks, bool says);

// "mean of 4, each sends 12.0 MiB a step" for the summary.
std::string describe_ranks(const kernels::Ranks& ranks, const graph::Graph& graph);

}  // namespace sluice::cli
