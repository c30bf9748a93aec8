// Op times by where the operands lie: AutoTM's configurations (§3.5), n_{k,c} in its equation (6).
//
// If an op has at most four distinct operands, every configuration of them over the fast tier and one slow tier is
// measured. If it has more, these are measured: each operand alone in the slow tier, all inputs, all outputs, and all
// operands. A configuration that was not measured costs the sum of what each of its operands costs alone, but not less
// than any part of it that was measured. No configuration counts more than one with more in the slow tier: what
// disturbs a measurement only prolongs it. Operands in several slow tiers cost the sum over the tiers.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/graph/graph.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/profile/op_measurement.hpp"

namespace sluice::profile {

// Of one slow tier. Ops of equal signature share their configurations.
struct PlacementTimes {
  std::string tier;  // tier_key()
  bool emulated = false;
  std::vector<OpConfigurations> distinct;
  std::vector<std::int32_t> index;  // by OpIndex: into `distinct`, or -1 where nothing was measured

  const OpConfigurations* of(graph::OpIndex op) const;
};

// What a tier's op times are stored under: "optane(emulated,25000000000,4800000000)". A NUMA node has no bandwidths
// here, "numa:1(numa)": if they were measured anew, that would only hide the times that are known.
std::string tier_key(const memory::Tier& tier);

// The configurations to measure, the one with nothing in the slow tier first; none for an op of more than
// kMostOperands distinct operands.
std::vector<OperandSet> configurations_to_measure(const graph::Op& op);

// The tier of each operand, inputs then outputs, with `slow` in `tier` and the rest in the fast tier; and back.
std::vector<memory::TierId> operand_tiers(const graph::Op& op, OperandSet slow, memory::TierId tier);
OperandSet operands_in(const graph::Op& op, std::span<const memory::TierId> operand_tiers, memory::TierId tier);

// The operands that `op` reads, and those that it writes: what it updates in place is among both.
OperandSet read_operands(const graph::Op& op);
OperandSet written_operands(const graph::Op& op);

// By how much `slow` makes the op slower (perhaps below 0: samples differ). Nothing when the measurements do not cover
// its operands.
std::optional<Seconds> extra_seconds(const OpConfigurations& configurations, OperandSet slow);

}  // namespace sluice::profile
