// A graph in one line.
#pragma once

#include <string>

#include "sluice/graph/graph.hpp"

namespace sluice::report {

// "resnet50, images [16, 3, 224, 224], labels [16] of 1000: 412 ops, 630 tensors, 2.05 GiB in all"
std::string describe_graph(const graph::Graph& graph);

}  // namespace sluice::report
