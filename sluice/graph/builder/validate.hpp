// Checks of a whole graph, whoever made it: operands defined before use, shapes by the rules of op.hpp.
#pragma once

#include "sluice/base/result.hpp"
#include "sluice/graph/graph.hpp"

namespace sluice::graph {

// Operand counts and shapes of one op, forward, backward (by the forward op's rule) or sliced. Scratch outputs
// (kWorkspace) are ignored; an op with Op::views passes, because it sees other shapes than its tensors have.
// Errors (kBadInput) name the op.
Status check_op_shapes(const Graph& graph, const Op& op);

// check_op_shapes for every op; every op has a layer; no op reads a tensor that nothing wrote before it in the step,
// persistent tensors excepted.
Status validate(const Graph& graph);

}  // namespace sluice::graph
