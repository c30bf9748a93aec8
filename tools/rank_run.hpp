// What the processes of one training run agree on, where `mpirun` has started several (sluice/exec/ranks).
#pragma once

#include <memory>

#include "sluice/kernels/ranks.hpp"
#include "sluice/plan/plan.hpp"
#include "tools/options.hpp"
#include "tools/train_arguments.hpp"

namespace sluice {

// Tells the arguments how many ranks were started together (nullptr: one), and leaves what is printed and written to the
// first. kBadInput: --ranks says otherwise, or an option does not go with several.
Status settle_ranks(Ranks* ranks, TrainArguments& arguments);

// kMismatch where a rank was started with other settings than the first, or goes on from another step.
Status check_same_work(Ranks& ranks, const TrainArguments& arguments, const Workload& workload);
Status check_same_step(Ranks& ranks, std::int64_t first_step);

// The first rank's plan becomes everybody's.
Status share_plan(Ranks& ranks, const Graph& graph, Plan& plan);

// Whether any rank says so; `ranks` may be nullptr.
Result<bool> any_rank(Ranks* ranks, bool says);

// "mean of 4, each sends 12.0 MiB a step" for the summary.
std::string describe_ranks(const Ranks& ranks, const Graph& graph);

}  // namespace sluice
