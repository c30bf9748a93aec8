// Proves a plan safe without knowing who made it. See plan.hpp for the conventions that the rules speak of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/plan/plan.hpp"

namespace sluice {

enum class Rule {
  kWellFormed,    // indices, intervals, sizes of lists and alignment are in range; one residency a tensor, tier and op
  kGraphMatches,  // fingerprint of the graph
  kMachineMatches,    // fingerprint of the machine
  kOperandResident,   // every operand has a valid copy in the tier where the op expects it
  kTierAddressable,   // ops use operands only in tiers they may address
  kNoOverlap,         // no two residencies share a byte of a tier at the same time
  kWithinBudget,      // every residency ends below its tier's budget
  kSourceStaysValid,  // a migration's source is valid when it starts, keeps its room, and is not written until it is
                      // done
  kDestinationNotReadEarly,  // nothing reads a migration's destination before needed_by
  kWriteInvalidates,         // after an op writes a tensor, only the copy it wrote is a source or an operand
  kCycleClosed,              // every persistent tensor has, at the end of the step, a valid copy where it began
  kLinkExists,               // a migration's tiers are joined by a link
};

std::string_view to_string(Rule rule);  // "operand-resident"

struct Violation {
  Rule rule = Rule::kWellFormed;
  std::string message;  // names the op, tensor, tier, offsets and bytes concerned
};

// Every violation found, in op order, at most 20; empty means safe.
std::vector<Violation> verify_plan(const Graph& graph, const Machine& machine, const Plan& plan);

}  // namespace sluice
