// What a planner does, as it says of itself: the columns of Sentinel's table I and of HOME's table 1, for every planner
// here. `sluice planners` and docs/planners.md are made from this; planner_traits_test.cpp holds plans against it.
#pragma once

#include <string_view>

namespace sluice::planners {

struct PlannerTraits {
  // How it decides: "rules", "greedy", "search", "integer program", ...
  std::string_view decides = "rules";
  bool profiles = false;         // by measured times of ops, of the graph as it runs here
  bool counts_accesses = false;  // by main-memory accesses of tensors, where they were counted
  bool moves = false;            // to slow memory and back during a step
  bool recomputes = false;       // runs ops again instead of keeping their results
  bool reorders = false;         // runs ops in another order
  bool whole_step = false;       // decides for the whole step at once, not op by op or layer by layer
  bool all_tensors = false;      // parameters and optimizer state leave fast memory, too
  bool any_graph = false;        // needs not know what an op or a tensor is for
  bool groups_small =
      false;  // moves small tensors in blocks (in every plan, what moves shares no page with what stays)
  bool several_tiers = false;  // uses more than one slow tier at once
  bool bound = false;          // says how far its answer can be from the best there is, of what it chooses among
};

}  // namespace sluice::planners
