// Durations for planning and simulating: op times from the profile, transfer times from the machine's links.
#pragma once

#include <span>
#include <vector>

#include "sluice/profile/profile.hpp"

namespace sluice {

class CostModel {
 public:
  CostModel(const Graph& graph, const Profile& profile, const Machine& machine);

  // Op time with every operand in the fast tier.
  Seconds op_seconds(OpIndex op) const { return op_seconds_[static_cast<std::size_t>(op)]; }

  // Op time with operands where `operand_tiers` says (inputs then outputs, as in Plan). Each operand outside the fast
  // tier adds bytes x (1/its bandwidth - 1/fast bandwidth), by its read bandwidth for inputs and write bandwidth for
  // outputs. The emulated tiers' delays in the executor use this same function.
  Seconds op_seconds(OpIndex op, std::span<const TierId> operand_tiers) const;
  Seconds slow_access_seconds(OpIndex op, std::span<const TierId> operand_tiers) const;  // the added part alone

  Seconds transfer_seconds(LinkId link, Bytes bytes) const;

 private:
  const Graph& graph_;
  const Machine& machine_;
  std::vector<Seconds> op_seconds_;
};

}  // namespace sluice
