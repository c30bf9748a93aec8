// The plan: the waist between those who decide (planners) and those who obey (simulator, executor, report).
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
// A persistent tensor is, when the step starts, in the one residency that contains op 0 and that no migration fills
// before op 0. It must end the step with a valid copy at the same tier and offset.
#pragma once

#include <string>
#include <vector>

#include "sluice/base/id_vector.hpp"
#include "sluice/base/interval.hpp"
#include "sluice/graph/graph.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice {

using ResidencyIndex = std::int32_t;
using MigrationIndex = std::int32_t;

inline constexpr OpIndex kStepStart = -1;  // Migration::issue_after: before op 0

struct Residency {
  TensorId tensor = 0;
  TierId tier = 0;
  Bytes offset = 0;  // in the tier's arena, multiple of its room's alignment (below)
  Interval<OpIndex> ops;
  bool operator==(const Residency&) const = default;
};

struct Migration {
  TensorId tensor = 0;
  ResidencyIndex from = 0;
  ResidencyIndex to = 0;
  OpIndex issue_after = kStepStart;
  OpIndex needed_by = 0;  // issue_after < needed_by <= op_count
  bool operator==(const Migration&) const = default;
};

// Residencies in one tier over the same ops that lie one behind the other in whole pages of their own, and that one
// transfer fills or empties: small tensors with one life (Sentinel section IV-B).
//
//   offset   0            64        128          1664      4096
//            | stats (64) | scale (64) | labels (1,500) | to the page's end: nothing
//
// The first begins at a multiple of kTensorAlignment, each other one where the one before it ends, up to a multiple of
// kOperandAlignment; the room of the last reaches to the end of its page. A migration from or to a member is one of a
// run: one for every member, in order, with equal times, from all members of one block to all of another.
struct Block {
  std::vector<ResidencyIndex> members;  // two or more, of different tensors
  bool operator==(const Block&) const = default;
};

struct OpPlacement {
  std::int32_t implementation = 0;
  std::vector<TierId> operand_tiers;  // inputs then outputs
  bool operator==(const OpPlacement&) const = default;
};

struct Plan {
  std::string graph_name;
  std::string graph_fingerprint;
  std::string machine_fingerprint;
  std::string planner;                                              // registry name
  std::vector<std::pair<std::string, std::string>> planner_config;  // what the planner was told and what it chose
  std::string solver_status = "heuristic";
  std::vector<Bytes> budgets;      // by TierId
  std::vector<Bytes> arena_bytes;  // by TierId: highest byte any residency uses
  Seconds predicted_step_seconds = 0;
  Seconds lower_bound_seconds = 0;

  IdVector<OpIndex, OpPlacement> ops;
  IdVector<ResidencyIndex, Residency> residencies;
  std::vector<Block> blocks;
  // In issue order: ascending issue_after, ties in the order to be issued.
  IdVector<MigrationIndex, Migration> migrations;
};

// What a transfer of a tensor moves, and the room it takes where it comes from or goes to: whole pages, so that no page
// or disk block holds anything that does not move with it.
inline Bytes stored_bytes(const Tensor& tensor) { return align_up(tensor.bytes, kTensorAlignment); }

// What ops ask of their operands: a cache line.
inline constexpr Bytes kOperandAlignment = 64;

// What a residency takes of its tier, and what its offset is a multiple of.
struct Room {
  Bytes bytes = 0;
  Bytes alignment = kTensorAlignment;
};

// Outside blocks: whole pages; but a tensor smaller than a page that stays in the fast tier, neither brought nor taken
// away by a migration, shares pages with others of its kind (Sentinel §IV-B packs small tensors).
inline Room room_for(const Tensor& tensor, TierId tier, bool migrates) {
  const bool shares = tier == kFastTier && !migrates && tensor.bytes < kTensorAlignment;
  const Bytes alignment = shares ? kOperandAlignment : kTensorAlignment;
  return {align_up(tensor.bytes, alignment), alignment};
}

// By ResidencyIndex: whether a migration begins or ends there. Indices that do not exist are passed over.
std::vector<bool> migrating_residencies(const Plan& plan);

// By ResidencyIndex. Tensors must exist, and blocks be well-formed.
std::vector<Room> residency_rooms(const Graph& graph, const Plan& plan);

// Which member of which block a residency is: -1 for none.
struct BlockPlace {
  std::int32_t block = -1;
  std::size_t member = 0;
};

// By ResidencyIndex. Indices that do not exist are passed over.
std::vector<BlockPlace> block_places(const Plan& plan);

// By member: the distance from the block's first byte; and behind them the whole block's bytes.
std::vector<Bytes> block_offsets(const Graph& graph, const Plan& plan, const Block& block);

// By TensorId, for persistent tensors: the residencies that contain op 0 and that no migration fills before op 0.
// A sound plan has exactly one for each.
std::vector<std::vector<ResidencyIndex>> start_residencies(const Graph& graph, const Plan& plan);

}  // namespace sluice
