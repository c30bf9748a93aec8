// Durations for planning and simulating: op times from the profile, transfer times from the machine's links.
#pragma once

#include <span>
#include <vector>

#include "sluice/profile/profile.hpp"

namespace sluice {

// What op `op` takes longer because of the operands that `operand_tiers` (inputs then outputs, as in Plan) puts
// outside the fast tier: each adds bytes x (1/its bandwidth - 1/fast bandwidth), by read bandwidth for inputs and by
// write bandwidth for outputs, never less than 0. The executor injects this same delay for emulated tiers.
Seconds slow_access_seconds(const Graph& graph, const Machine& machine, OpIndex op,
                            std::span<const TierId> operand_tiers);

class CostModel {
 public:
  // `graph` and `machine` must outlive the model; `profile` must have one time per op of `graph`.
  CostModel(const Graph& graph, const Profile& profile, const Machine& machine);

  // Op time with every operand in the fast tier.
  Seconds op_seconds(OpIndex op) const { return op_seconds_[static_cast<std::size_t>(op)]; }

  // Op time with operands where `operand_tiers` says: the above plus slow_access_seconds().
  Seconds op_seconds(OpIndex op, std::span<const TierId> operand_tiers) const;
  Seconds slow_access_seconds(OpIndex op, std::span<const TierId> operand_tiers) const;

  Seconds transfer_seconds(LinkId link, Bytes bytes) const;

  // Compute time lost while the link carries data, by second of its time (Link::interference x bandwidth).
  double interference(LinkId link) const;

 private:
  const Graph& graph_;
  const Machine& machine_;
  std::vector<Seconds> op_seconds_;
};

}  // namespace sluice
