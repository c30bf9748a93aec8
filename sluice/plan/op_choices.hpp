// What a plan chooses for the ops of the graph that it was made for, whatever its schedule: how another plan can be
// given the same choices, which is what makes their bits comparable. An op that the plan leaves out is chosen as the
// one whose result stands for its own (graph/value_numbers.hpp).
#pragma once

#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/graph/graph.hpp"
#include "sluice/plan/plan.hpp"

namespace sluice::plan {

// By op of the graph. kBadInput where the plan runs an op twice by two choices, or one that the graph does not have.
Result<std::vector<graph::OpChoice>> choices_by_op(const Plan& plan, const graph::Graph& graph);

// Whether both plans choose the same for every op of their graph.
bool same_choices(const Plan& a, const Plan& b, const graph::Graph& graph);

// kBadInput for an implementation that its op does not have, or a processor that is none of so many. `choices` by op.
Status check_choices(const graph::Graph& graph, ProcessorId processors, const std::vector<graph::OpChoice>& choices);

struct ChoiceCounts {
  graph::OpIndex other_kernels = 0;     // ops that run by another implementation than the first, somewhere
  graph::OpIndex other_processors = 0;  // ops that run on another processor than the main one
};
ChoiceCounts count_choices(const Plan& plan);

// "12 ops by other kernels than the default, 30 ops on other processors: bits are those of fast-only with --choices-of
// this plan"; empty where the plan chooses nothing.
std::string describe_choices(const Plan& plan);

}  // namespace sluice::plan
