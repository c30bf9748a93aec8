// What a logical graph needs in memory, before a backend has fixed layouts and workspaces: an estimate that rewrites go
// by.
#pragma once

#include <vector>

#include "sluice/graph/graph.hpp"

namespace sluice::graph {

struct Footprint {
  std::vector<Bytes> operands;  // by OpIndex: of all its operands together
  Bytes peak = 0;               // of all tensors that live at once, persistent ones included
};

// With views (kReshape) and results in place counted once.
Footprint measure_footprint(Graph logical);

}  // namespace sluice::graph
