// Orders of a step in which weight gradients and updates run later, where the link to a slow tier has room.
//
// A large layer in the middle of a step (VGG's first dense layer: 392 MiB of weights, as much gradient and momentum)
// needs its parameters, gradients and optimizer states within a few milliseconds, and then the link idles under the
// backward pass of the layers before it. But its gradient is made of two small tensors, what the layer read and the
// gradient of what it wrote. If these stay in fast memory, gradient and update may wait:
//
//   order of the graph   dx1 dw1 up1  dx2 dw2 up2  dx3 dw3 up3   dx4        dx5        dx6        dx7
//   deferred             dx1          dx2          dx3           dx4 dw1 up1  dx5 dw2 up2  dx6 dw3 up3  dx7
//
// An update and all that makes its gradient move together (UpdateGroup), and not past an op that overwrites what they
// read.
#pragma once

#include <string>
#include <vector>

#include "sluice/graph/graph.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::planners {

// Updates that share the making of their gradients, with the ops that make them.
struct UpdateGroup {
  std::vector<graph::OpIndex> ops;  // ascending
  graph::OpIndex limit = 0;         // the first op that overwrites something they read; op_count() where none does
  Bytes updated = 0;                // of parameters and optimizer states
  Bytes held = 0;                   // of what they read and must stay until then
};

// Which groups are deferred, and how far.
struct UpdateSpread {
  double most_held = 0;       // of a group, per byte that it updates
  double until = 0;           // of the compute time between the first group and the end of the step
  bool newest_first = false;  // the last to be ready goes first: its weights were just read
};

// Schedules with groups deferred. Time is compute time in fast memory.
class Deferral {
 public:
  // `graph` must outlive this object.
  Deferral(const graph::Graph& graph, const profile::CostModel& costs);

  // Of the graph's ops, each once. The groups are spread as evenly over the time as there are bytes to bring and to
  // send back.
  std::vector<graph::OpIndex> schedule(const UpdateSpread& spread) const;

 private:
  std::vector<const UpdateGroup*> groups_within(double most_held) const;
  void place(std::vector<const UpdateGroup*> chosen, const UpdateSpread& spread,
             std::vector<std::vector<graph::OpIndex>>& before, std::vector<bool>& deferred) const;
  graph::OpIndex nearest(Seconds time) const;

  const graph::Graph& graph_;
  std::vector<UpdateGroup> groups_;
  std::vector<Seconds> start_;  // by op, and the end
};

// Some to try.
std::vector<UpdateSpread> update_spreads();

// "updates that hold at most 0.5 bytes a byte updated, over 60 % of the time left, oldest first".
std::string describe(const UpdateSpread& spread);

}  // namespace sluice::planners
