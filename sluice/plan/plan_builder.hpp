// How planners make plans: they say what is where and when; the builder chooses the offsets.
//
// A planner adds residencies and migrations in any order, with the conventions of plan.hpp, and says in which tier each
// op finds its operands (the fast tier unless told otherwise). finish() packs the residencies of every tier into its
// budget, sorts the migrations and fills in everything that follows from the graph and the machine. The builder stays
// as it was, so a planner whose plan does not pack can change it and finish again.
//
// Offsets. Each residency is packed on its own, except that a persistent tensor's residency in use at the step's end
// gets the offset of the one it began the step in (same tensor and tier): the cycle has to close.
//
// Order. Migrations are issued in the order of issue_after. Those issued at the same moment go in this order: first
// those without width (needed_by == issue_after + 1) that leave the fast tier, then the others without width, then
// those with width. Each of these groups keeps the order in which its migrations were added. So a prefetch may take the
// fast room that an eviction issued after the same op leaves, whatever order they were added in. In the other tiers a
// room that is left by a migration without width is not given away at that same op, since no order could make every
// such exchange safe. (A migration that passes on what another one brings at the same moment is issued after it. The
// verifier rejects a persistent tensor that leaves its place without width and is brought back to it at the same
// moment: keep it there instead.)
//
// Fragmentation. Where the fast tier is this machine's memory, tensors that find no room in one piece lie in several
// (memory/stitch.hpp). Elsewhere, and where a planner fixes offsets or says so, every residency is in one piece.
//
// Cost: linear apart from packing (milliseconds by the portfolio, tenths of a second where that misses a budget). Not
// thread-safe. Errors: see finish().
#pragma once

#include <span>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/memory/offsets/offset_packer.hpp"
#include "sluice/plan/plan.hpp"

namespace sluice::plan {

// Why finish() failed for want of room.
struct PackingFailure {
  memory::TierId tier = 0;
  Bytes budget = 0;
  Bytes needed = 0;  // what the packing found takes; a planner may try again with budget - (needed - budget)
  Bytes bound = 0;   // no packing can take less: the most bytes resident at one time
};

class PlanBuilder {
 public:
  PlanBuilder(const graph::Graph& graph, const memory::Machine& machine);
  // With the residencies and migrations of a plan, to lay them out anew; its blocks are taken apart.
  PlanBuilder(const graph::Graph& graph, const memory::Machine& machine, const Plan& plan);

  ResidencyIndex add_residency(graph::TensorId tensor, memory::TierId tier, Interval<graph::OpIndex> ops);
  MigrationIndex add_migration(graph::TensorId tensor, ResidencyIndex from, ResidencyIndex to,
                               graph::OpIndex issue_after, graph::OpIndex needed_by, Cause cause = Cause::kUnsaid);

  // The tensor is to lie there in fewer bytes: in the encoding for its kind of elements.
  void encode(ResidencyIndex residency);

  // Packs the residencies as a block, in this order: see Block. Their migrations must be added one after the other, in
  // the same order.
  void add_block(std::vector<ResidencyIndex> members);

  // `operand` counts inputs, then outputs. The second form sets every operand of the op that is this tensor.
  void set_operand_tier(graph::OpIndex op, int operand, memory::TierId tier);
  void set_tensor_tier(graph::OpIndex op, graph::TensorId tensor, memory::TierId tier);

  // Changes the ops of a residency: its end is often known only later, and its begin changes when a migration into it
  // is moved to an earlier time.
  void set_residency_ops(ResidencyIndex residency, Interval<graph::OpIndex> ops);
  // Every residency gets pages of its own; without this, small tensors that stay in the fast tier share some.
  void keep_pages_apart() { pages_apart_ = true; }
  // No residency lies in several pieces.
  void keep_whole() { whole_ = true; }

  // As added so far; offsets are 0.
  const std::vector<Residency>& residencies() const { return plan_.residencies; }
  const std::vector<Migration>& migrations() const { return plan_.migrations; }
  const OpPlacement& placement(graph::OpIndex op) const { return plan_.ops.at(op); }

  // The plan with offsets, fingerprints, budgets and arena bytes; the caller adds planner, config, status and times.
  // `budgets` by TierId. Where the portfolio misses a budget, an exact search takes up to `effort` for each tier
  // (offset_packer.hpp). kInfeasible (so many bytes live at one time) and kNoneFound (they would fit, but for
  // fragmentation) name tier, budget and bytes needed, and fill `failure` when given.
  // kBadInput when the number of budgets is not that of the tiers.
  Result<Plan> finish(std::span<const Bytes> budgets, PackingFailure* failure = nullptr,
                      std::int64_t effort = memory::kPackingEffort) const;

 private:
  Status pack_tier(memory::TierId tier, Bytes budget, const std::vector<bool>& kept_longer, std::int64_t effort,
                   Plan& plan, PackingFailure* failure) const;
  bool may_stitch(memory::TierId tier) const;

  const graph::Graph& graph_;
  const memory::Machine& machine_;
  Plan plan_;
  bool pages_apart_ = false;
  bool whole_ = false;
};

}  // namespace sluice::plan
