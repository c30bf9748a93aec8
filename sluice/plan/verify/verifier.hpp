// Proves a plan safe without knowing who made it. See plan.hpp for the conventions that the rules speak of, and
// docs/plan-format.md for each rule in full.
//
// How copies come and go. Walk the step in plan order: the migrations issued after op k-1, then op k.
//   - A copy becomes valid by an op that writes it as an output; by a migration into it, from needed_by on; or, at
//     op 0, because the persistent tensor begins the step there. A persistent tensor begins in exactly one place, so
//     that a program knows where to put the values before the first step.
//   - A write invalidates every other copy of the tensor. Their rooms stay reserved, and a later migration may fill
//     them again.
//   - An output (kOutput) keeps the copy written last until the step ends: the caller reads it there.
//   - When the step ends, all migrations are done, and each persistent tensor needs a valid copy where it began.
// Room changes hands without a gap: a residency may begin at the op where another one ends. Then the migration that
// still reads the old one must come earlier in issue order than one that fills the new one.
//
// How many bytes a residency takes is worked out here from the format's rules (geometry.hpp), without the code that
// packs or runs plans.
//
// Checks stop at the first of these groups with a violation: fingerprints; form; everything else. Cost: about
// O(n log n) in ops, residencies and migrations; 3,000 ops with 4,000 residencies take some 10 ms. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/plan/plan.hpp"

namespace sluice::plan {

enum class Rule {
  kWellFormed,               // indices, intervals, list sizes, alignment; one residency at a time; blocks are whole
  kGraphMatches,             // fingerprint of the graph
  kMachineMatches,           // fingerprint of the machine
  kOperandResident,          // every operand has a valid copy in the tier where the op expects it
  kTierAddressable,          // ops use operands only in tiers that their processor may address
  kNoOverlap,                // no two residencies share a byte of a tier at the same time
  kWithinBudget,             // every residency ends below its tier's budget
  kSourceStaysValid,         // a migration's source is valid from start to end, keeps its room, and is not written
  kDestinationNotReadEarly,  // nothing reads a migration's destination before needed_by
  kWriteInvalidates,         // after an op writes a tensor, only the copy it wrote is a source or an operand
  kCycleClosed,              // every persistent tensor has, at the end of the step, a valid copy where it began
  kLinkExists,               // a migration's tiers are joined by a link
  kEncodingAllowed,          // what is encoded may be, and is neither used by ops nor where a step begins
  kSameValues,               // every execution of the schedule reads what its op reads in the graph's own order
};

std::string_view to_string(Rule rule);  // "operand-resident"

struct Violation {
  Rule rule = Rule::kWellFormed;
  std::string message;  // names the op, tensor, tier, offsets and bytes concerned
};

// Every violation found, in op order, at most 20; empty means safe.
std::vector<Violation> verify_plan(const graph::Graph& graph, const memory::Machine& machine, const Plan& plan);

}  // namespace sluice::plan
