// In-place execution: which outputs may overwrite which inputs, and doing so where nothing is lost.
//
// An op that overwrites an input saves a tensor of room and the traffic to move it. Candidates are a trait of
// the kind (op_traits.hpp); whether one is safe depends on the graph, and on layouts and bytes, so the merge runs last
// in a lowering.
#pragma once

#include <vector>

#include "sluice/graph/graph.hpp"

namespace sluice::graph {

// Fills Op::in_place of every op by its kind, in order of preference. Pairs already there are replaced.
void set_in_place_candidates(Graph& graph);

// Makes an output the same tensor as an input, where this op is the last to use the input and the first to use the
// output, neither is persistent or a step input or output, and both have equal bytes, dtype, shape and layout. The op
// then lists one id among its inputs and its outputs; order and number of ops and operand positions stay. A gradient
// shared by several consumers is overwritten by the last of them only.
// Renumbers the tensors so that none is left over, and returns the new id by old id (merged tensors share one).
std::vector<TensorId> merge_in_place(Graph& executable);

}  // namespace sluice::graph
