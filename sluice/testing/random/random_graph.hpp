// Random executable graphs: small training steps with everything that a plan has to cope with.
//
//   input ─► layers: convolution with workspace · batch norm with a persistent buffer · ReLU in place ·
//            residual add and concat of an earlier activation · dense layer in slices that write one tensor in turn ·
//            dense layer on the weight of an earlier one · function · unrolled LSTM with one weight for all steps
//         ─► loss (kOutput) ─► the backward ops in reverse ─► an update after each gradient, or all at the end
//
// In the backward ops, some activations are made again instead of kept, gradients of activations with several readers
// wait to be summed, and gradients of shared weights are accumulated in place. Optimizers have one or two states. Some
// graphs have a second stage: more layers on what the first made, on weights that it has updated.
//
// Operands follow the table in op.hpp; sizes are random and mean nothing, so the graphs suit the plan, the simulator
// and ops that only mix bytes, not real kernels. Seeded: equal seeds give equal graphs.
#pragma once

#include <cstdint>

#include "sluice/graph/graph.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::testing {

struct RandomGraphOptions {
  int most_layers = 8;
  Bytes most_bytes = 5 * memory::kBlockAlignment;  // of one tensor; sizes need not be multiples of the alignment
};

graph::Graph random_graph(std::uint64_t seed, const RandomGraphOptions& options = {});

}  // namespace sluice::testing
