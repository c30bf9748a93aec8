// Networks small enough for the reference backend and for differences, each with the structure of a published family:
// what autodiff, folding, slicing and backends must get right together.
#pragma once

#include <string>
#include <vector>

#include "sluice/graph/graph.hpp"

namespace sluice::testing {

struct SmallNetwork {
  std::string name;
  graph::Graph forward;
};

// Residual, inception, densely connected, separable (depthwise, ReLU6), response norm with dropout, recurrent, decoder
// (tied embedding, causal), encoder (hidden tokens), adversarial (two stages).
std::vector<SmallNetwork> small_networks();

}  // namespace sluice::testing
