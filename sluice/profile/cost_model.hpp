// Durations for planning and simulating: op times from the profile, transfer times from the machine's links.
//
// An op with operands in slow tiers takes its measured configuration (placement.hpp) where the profile has one, else
// its time in fast memory and slow_access_seconds() beside. What was injected for an emulated tier while measuring is
// taken out and what the executor would inject now is added, so that nothing counts twice and both go by the same
// figures.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sluice/profile/profile.hpp"

namespace sluice {

// What a byte costs more in tier `tier` than in the fast one, 1/its bandwidth - 1/fast bandwidth, never less than 0.
// An emulated tier's figures are held against the fast memory that they were published beside (Tier::beside_bandwidth).
struct SlowByteSeconds {
  Seconds read = 0;
  Seconds write = 0;
};
SlowByteSeconds slow_byte_seconds(const Machine& machine, TierId tier);

// What op `op` takes longer because of the operands that `operand_tiers` (inputs then outputs, as in Plan) puts
// outside the fast tier: each adds bytes x (1/its bandwidth - 1/fast bandwidth), by read bandwidth for inputs and by
// write bandwidth for outputs, never less than 0.
Seconds slow_access_seconds(const Graph& graph, const Machine& machine, OpIndex op,
                            std::span<const TierId> operand_tiers);

// The part of it that is due to emulated tiers, which the executor injects: real memory is as slow as it is.
Seconds injected_seconds(const Graph& graph, const Machine& machine, OpIndex op, std::span<const TierId> operand_tiers);

class CostModel {
 public:
  // `graph` and `machine` must outlive the model; `profile` must have one time per op of `graph`.
  CostModel(const Graph& graph, const Profile& profile, const Machine& machine);

  // Op time with every operand in the fast tier.
  Seconds op_seconds(OpIndex op) const { return op_seconds_[static_cast<std::size_t>(op)]; }

  // Op time with operands where `operand_tiers` says: as measured, else by slow_access_seconds(); never less than in
  // the fast tier.
  Seconds op_seconds(OpIndex op, std::span<const TierId> operand_tiers) const;
  Seconds slow_access_seconds(OpIndex op, std::span<const TierId> operand_tiers) const;

  Seconds transfer_seconds(LinkId link, Bytes bytes) const;  // while the link has its device to itself

  // The link back, if the two slow each other down while both are busy (Link::shared_bandwidth), and the share of its
  // own speed at which `link` then goes: above 0, at most 1.
  std::optional<LinkId> shares_with(LinkId link) const;
  double shared_speed(LinkId link) const;

  // Compute time lost while the link carries data, by second of its time at full speed (Link::interference x
  // bandwidth).
  double interference(LinkId link) const;

 private:
  // What op `op` loses to its operands in slow tier `tier` alone.
  Seconds seconds_lost_to(TierId tier, OpIndex op, std::span<const TierId> operand_tiers) const;

  const Graph& graph_;
  const Machine& machine_;
  std::vector<Seconds> op_seconds_;
  std::vector<std::shared_ptr<const PlacementTimes>> placements_;  // by TierId, nullptr where nothing was measured
};

}  // namespace sluice
