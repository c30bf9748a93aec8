// Trains a graph in the plainest way and compares the results. This shows whether two backends, or two forms of one
// network, compute alike.
//
// The optimizer's state is compared too, because it shows every gradient: an error of one per cent in a gradient is
// visible in its momentum, while the loss of a few steps hides it.
#pragma once

#include <memory>
#include <string>

#include "sluice/testing/op_cases/op_cases.hpp"

namespace sluice::testing {

// Throws (SLUICE_CHECK) with the backend's words where it refuses.
std::unique_ptr<kernels::CompiledGraph> compiled(const std::unique_ptr<kernels::Backend>& backend,
                                                 const graph::Graph& graph, int threads = 2);

struct TrainingRun {
  int steps = 2;
  float learning_rate = 0.01F;
  std::uint64_t seed = 20240611;
};

// Every loss of every step ("step 0: loss", ...) and every parameter and state after the last, by name. The step's data
// are waves (wave_input.hpp).
NamedValues trained(kernels::CompiledGraph& graph, const TrainingRun& run = {});

// The tensor of `expected` that `actual` is farthest from, when that is more than `tolerance` of its length as a vector
// (counted as 1e-5 an element where it is less: gradients that are zero but for rounding); "" when all are near.
std::string farthest(const NamedValues& actual, const NamedValues& expected, double tolerance);

}  // namespace sluice::testing
