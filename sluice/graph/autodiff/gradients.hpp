// The gradient of each forward op kind, as backward ops. One function per kind; differentiate() selects it. Internal
// to autodiff.
#pragma once

#include "sluice/graph/autodiff/gradient_tape.hpp"

namespace sluice::graph {

// Appends the backward ops of one forward op, whose consumers have been differentiated already, and hands their results
// to the op's inputs. A loss starts from 1; any other op whose output has no gradient is left out.
void differentiate(GradientTape& tape, const Op& op);

// The functions that the table of kinds (op_table.hpp) names. `dy` is the gradient of the op's first output, before a
// fused activation; of no use to losses, and to cells, which look for those of all their outputs.
#define SLUICE_GRADIENT(...) void SLUICE_OP_GRADIENT(__VA_ARGS__)(GradientTape & tape, const Op& op, TensorId dy);
SLUICE_OPS(SLUICE_GRADIENT)
#undef SLUICE_GRADIENT

// Of ops with one differentiable input, inputs[0], and a backward kind of the same attributes.
void differentiate_input(GradientTape& tape, const Op& op, OpKind kind, std::vector<TensorId> inputs);

}  // namespace sluice::graph
