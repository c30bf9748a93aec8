// What was compared: the graph, the machine and the fast budget that head the output of `sluice compare`.
#pragma once

#include <string>

#include "sluice/graph/graph.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::report {

struct ComparisonHeading {
  const graph::Graph& graph;
  const memory::Machine& machine;
  std::string fast;  // as the user wrote it; empty: everything

  std::string fast_budget() const { return fast.empty() ? "100%" : fast; }
};

}  // namespace sluice::report
