// The host step as three passes over memory, with the arithmetic of the fused one: gradients to fp32 and to their size,
// Adam in fp32, parameters to bf16. DeepSpeed's host step is such a chain.
//
//   bytes an element    unscale 2 + 4    Adam 16 + 12    convert 4 + 2
#pragma once

#include "benchmarks/host_step/step_buffers.hpp"
#include "sluice/kernels/onednn/updates/optimizer_step.hpp"

namespace sluice::benchmarks {

void step_in_three_passes(const kernels::AdamStep& step, const StepBuffers& buffers);

// No arithmetic to speak of: 4 streams read and 3 written, those that an Adam step reads and writes. What memory allows.
void read_four_write_three(const StepBuffers& buffers);

}  // namespace sluice::benchmarks
