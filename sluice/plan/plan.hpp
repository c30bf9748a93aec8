// The plan: the one interface between those who decide (planners) and those who obey (simulator, executor, report).
//
// Time in a plan is counted in ops: index k means "when op k starts". A step has ops [0, n). The step boundary is a
// barrier: every transfer of a step is finished before the next step starts.
//
//   op            0      1      2      3      4      5      6
//   fast          |--A: residency [1,4)--|        |--A: [5,7)---|
//   slow                        |--------A: residency [3,7)-----|
//   migrations              evict A: issue after 2, needed by 4     prefetch A: issue after 4, needed by 6
//
// A residency is room reserved for a tensor at one place over [begin, end), including the time a transfer into it or
// out of it takes. For a migration from residency S to residency D:
//   D.ops.begin <= issue_after + 1   room is reserved no later than the copy may start; normally equal
//   needed_by <= S.ops.end, D.ops.end  both keep their room until the copy is done
//   D holds a valid copy from needed_by on.
// A copy left behind in the source after the migration stays valid until the tensor is written. A migration with
// needed_by == issue_after + 1 has no op to hide under: op needed_by waits for it.
//
// What lies in a residency may be encoded (own_encoding.hpp): a migration into it encodes, one out of it decodes. No
// op uses it there, no tensor begins the step so, and its migrations come from and go to tier 0.
//
// When the step starts, a persistent tensor is in the one residency that contains op 0 and that no migration fills
// before op 0. It must end the step with a valid copy at the same tier and offset.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sluice/base/id_vector.hpp"
#include "sluice/base/interval.hpp"
#include "sluice/graph/graph.hpp"
#include "sluice/memory/encoding/encoding.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/memory/stitch.hpp"
#include "sluice/plan/cause.hpp"
#include "sluice/plan/prices.hpp"

namespace sluice::plan {

using ResidencyIndex = std::int32_t;
using MigrationIndex = std::int32_t;

inline constexpr graph::OpIndex kStepStart = -1;  // Migration::issue_after: before op 0

struct Residency {
  graph::TensorId tensor = 0;
  memory::TierId tier = 0;
  Bytes offset = 0;  // among the addresses of the tier's arena, multiple of its room's alignment (rooms.hpp)
  Interval<graph::OpIndex> ops;
  memory::Encoding encoding = memory::Encoding::kNone;  // of what lies there; the room is that of the tensor as it is
  bool encoded() const { return encoding != memory::Encoding::kNone; }
  bool operator==(const Residency&) const = default;
};

struct Migration {
  graph::TensorId tensor = 0;
  ResidencyIndex from = 0;
  ResidencyIndex to = 0;
  graph::OpIndex issue_after = kStepStart;
  graph::OpIndex needed_by = 0;  // issue_after < needed_by <= op_count
  Cause cause = Cause::kUnsaid;
  bool operator==(const Migration&) const = default;
};

// Residencies in one tier over the same ops. They lie one after the other in whole pages of their own, and one transfer
// fills or empties all of them. Blocks are for small tensors with the same life (Sentinel section IV-B).
//
//   offset   0            64        128          1664      4096
//            | stats (64) | scale (64) | labels (1,500) | to the page's end: nothing
//
// The first member begins at a multiple of kBlockAlignment. Each other member begins where the one before it ends,
// rounded up to a multiple of kOperandAlignment. The room of the last one reaches to the end of its page. A migration
// from or to a member belongs to a run of migrations: one for every member, in order, with equal times, from all
// members of one block to all members of another.
struct Block {
  std::vector<ResidencyIndex> members;  // two or more, of different tensors
  bool operator==(const Block&) const = default;
};

struct OpPlacement {
  std::int32_t implementation = 0;            // an index into Op::implementations
  std::vector<memory::TierId> operand_tiers;  // inputs then outputs
  ProcessorId processor = kMainProcessor;
  bool operator==(const OpPlacement&) const = default;
};

struct Plan {
  std::string graph_name;
  std::string graph_fingerprint;
  std::string machine_fingerprint;
  std::string planner;                                              // registry name; or the policy, as users write it
  std::vector<std::pair<std::string, std::string>> planner_config;  // what the planner was told and what it chose
  std::optional<Bytes> raised_from;  // the fast budget asked for, where the planner could not do with it
  std::string solver_status = "heuristic";
  std::vector<Bytes> budgets;      // by TierId
  std::vector<Bytes> arena_bytes;  // by TierId: the memory that residencies use, from byte 0 on
  // Of the fast tier, behind its arena_bytes; ascending. A residency lies before all stitches, or within one.
  std::vector<memory::Stitch> stitches;
  Seconds predicted_step_seconds = 0;
  Seconds lower_bound_seconds = 0;             // of all plans with these kernels in these budgets; 0: nobody asked
  std::optional<StepPrices> any_order_prices;  // that prove it (verify/any_order_certificate.hpp)
  Seconds order_bound_seconds = 0;             // of those that run ops in this plan's order, as often as it does
  std::optional<StepPrices> prices;            // that prove it (verify/certificate.hpp), of this schedule's graph

  // Which op of the graph runs in each slot; empty: every op once, in the graph's order. With a schedule, all that the
  // plan calls ops and tensors are those of the graph that it makes (graph/reschedule.hpp): an op is a slot.
  std::vector<graph::OpIndex> schedule;
  IdVector<graph::OpIndex, OpPlacement> ops;
  IdVector<ResidencyIndex, Residency> residencies;
  std::vector<Block> blocks;
  // In issue order: ascending issue_after, ties in the order to be issued.
  IdVector<MigrationIndex, Migration> migrations;
};

// By slot.
inline std::vector<graph::OpChoice> choices_of(const Plan& plan) {
  std::vector<graph::OpChoice> choices;
  choices.reserve(plan.ops.size());
  for (const OpPlacement& op : plan.ops) choices.push_back({op.implementation, op.processor});
  return choices;
}

}  // namespace sluice::plan
