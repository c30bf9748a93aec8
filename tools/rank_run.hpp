// What the processes of one training run agree on, where `mpirun` has started several (sluice/exec/ranks).
#pragma once

#include <memory>

#include "sluice/exec/backends/ranks.hpp"
#include "sluice/plan/plan.hpp"
#include "tools/options.hpp"
#include "tools/train_arguments.hpp"

namespace sluice {

// The ranks that were started with this process; nullptr for one. Tells the arguments how many they are, and leaves what is
// printed and written to the first. kBadInput: --ranks says otherwise, or an option does not go with several.
Result<std::unique_ptr<Ranks>> join_ranks(TrainArguments& arguments);

// kMismatch where a rank was started with other settings than the first.
Status check_same_work(Ranks& ranks, const Workload& workload);

// The first rank's plan becomes everybody's.
Status share_plan(Ranks& ranks, const Graph& graph, Plan& plan);

// Whether any rank says so; `ranks` may be nullptr.
Result<bool> any_rank(Ranks* ranks, bool says);

// "mean of 4 ranks, 12.0 MiB sent a step" for the summary.
std::string describe_ranks(const Ranks& ranks, const Graph& graph);

}  // namespace sluice
