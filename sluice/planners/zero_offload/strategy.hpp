// Which model states belong on the host (ZeRO-Offload, section 5.3), found in the step's own data flow.
//
//   parameters --4M--> forward and backward --2M--> gradients --2M--> update --2M--> parameters
//                                                                       ^
//                                                        masters, moments: 4M each way
//
// Nodes are groups of tensors and of computation, edges the bytes that flow between them in a step; M is the number of
// parameters, and the weights are of a step with bf16 parameters beside fp32 masters. Forward and backward stay on the
// device: their work grows with the batch (5.3.2). Of all ways to have at least one of the others on the host, those
// that send least over the link (5.3.3) are the candidates, and the one that leaves least on the device (5.3.4) is
// chosen.
//
// Parameters without a master are left out where others have one; where none has, the parameters are their own.
//
// The paper's table 5.1 says 4M for its last row, where text and factor say 2M: parameters alone stay.
//
// Cost: linear in the step's operands, and 2^5 assignments. Pure.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/graph.hpp"

namespace sluice::planners {

// What an assignment gives to one of the two.
enum class StateNode { kParameters, kGradients, kMasters, kMoments, kUpdate };
inline constexpr std::size_t kStateNodes = 5;
std::string_view to_string(StateNode node);

// Of one step.
struct StateFlow {
  std::array<Bytes, kStateNodes> bytes{};      // that are stored; of the update none
  std::array<Bytes, kStateNodes> to_passes{};  // that flow between the node and the forward and backward passes
  std::array<Bytes, kStateNodes> to_update{};  // and between it and the update
};
StateFlow state_flow(const graph::Graph& graph);

struct Assignment {
  std::array<bool, kStateNodes> on_host{};
  Bytes device_bytes = 0;  // of model states that stay
  Bytes volume = 0;        // over the link, both ways, a step

  bool has_on_host(StateNode node) const { return on_host[as_index(node)]; }
};

// Everything on the device, then those that send least, in order of what they leave there: table 5.1. The last one is
// the strategy.
std::vector<Assignment> offload_strategies(const StateFlow& flow);

}  // namespace sluice::planners
