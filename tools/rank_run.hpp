// What `sluice train` asks of processes that `mpirun` has started together (sluice/exec/ranks); what they agree on while
// they run is in sluice/train/rank_agreement.hpp.
#pragma once

#include <memory>

#include "sluice/kernels/ranks.hpp"
#include "tools/options.hpp"
#include "tools/train_arguments.hpp"

namespace sluice::cli {

// Tells the arguments how many ranks were started together (nullptr: one), and leaves what is printed and written to the
// first. kBadInput: --ranks says otherwise, or an option does not go with several.
Status settle_ranks(kernels::Ranks* ranks, TrainArguments& arguments);

// kMismatch where a rank was started with other settings than the first.
Status check_same_work(kernels::Ranks& ranks, const TrainArguments& arguments, const train::Workload& workload);

// "mean of 4, each sends 12.0 MiB a step" for the summary.
std::string describe_ranks(const kernels::Ranks& ranks, const graph::Graph& graph);

}  // namespace sluice::cli
