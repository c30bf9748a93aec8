// Durations for planning and simulating: op times from the profile, transfer times from the machine's links.
//
// An op with operands in slow tiers takes what memory_time.hpp says, the rule that the executors inject for emulated
// tiers. Where the profile has its measured configuration (placement.hpp) that is taken instead; in an emulated tier,
// whose data lie in DRAM, it stands for the time in fast memory, and the rule is applied to it.
//
// So on emulated tiers prediction and run share the rule, and agreeing says nothing about it: what a comparison of the
// two checks there is order, overlap, copies and the times in fast memory, which the run has measured anew.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sluice/profile/cache_model.hpp"
#include "sluice/profile/memory_time.hpp"
#include "sluice/profile/profile.hpp"

namespace sluice {

// What the executor emulates for op `op`, whose operands are where `operand_tiers` (inputs then outputs, as in Plan)
// says: the waits for emulated tiers. Real memory is as slow as it is.
MemorySeconds emulated_seconds(const Graph& graph, const Machine& machine, const OpTraffic& traffic, OpIndex op,
                               std::span<const TierId> operand_tiers);

class CostModel {
 public:
  // `graph` and `machine` must outlive the model; `profile` must have one time per op of `graph`.
  CostModel(const Graph& graph, const Profile& profile, const Machine& machine);

  // Op time with every operand in the fast tier.
  Seconds op_seconds(OpIndex op) const { return op_seconds_[static_cast<std::size_t>(op)]; }

  // Op time with operands where `operand_tiers` says; never less than in the fast tier.
  Seconds op_seconds(OpIndex op, std::span<const TierId> operand_tiers) const;

  const OpTraffic& traffic() const { return traffic_; }

  Seconds transfer_seconds(LinkId link, Bytes bytes) const;  // while the link has its device to itself

  // The link back, if the two slow each other down while both are busy (Link::shared_bandwidth), and the share of its
  // own speed at which `link` then goes: above 0, at most 1.
  std::optional<LinkId> shares_with(LinkId link) const;
  double shared_speed(LinkId link) const;

  // Compute time lost while the link carries data, by second of its time at full speed (Link::interference x
  // bandwidth).
  double interference(LinkId link) const;

 private:
  // What op `op` was measured to take longer because of its operands in slow tier `tier`, if it was.
  std::optional<Seconds> measured_extra(TierId tier, OpIndex op, std::span<const TierId> operand_tiers) const;

  const Graph& graph_;
  const Machine& machine_;
  OpTraffic traffic_;
  std::vector<Seconds> op_seconds_;
  std::vector<std::shared_ptr<const PlacementTimes>> placements_;  // by TierId, nullptr where nothing was measured
};

}  // namespace sluice
