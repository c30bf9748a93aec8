#include "sluice/planners/tensor_schedule.hpp"

#include <algorithm>
#include <optional>

namespace sluice {
namespace {

// First op in [from, to] that writes the tensor.
std::optional<OpIndex> first_write(const std::vector<Use>& uses, OpIndex from, OpIndex to) {
  for (const Use& use : uses) {
    if (use.op >= from && use.op <= to && use.writes) return use.op;
  }
  return std::nullopt;
}

// A copy in the slow tier: made by an eviction (or there at step start), valid until the next write.
struct SlowCopy {
  Interval<OpIndex> ops;
  std::optional<std::size_t> evicted_piece;  // none: there at step start
  std::vector<std::size_t> prefetched_pieces;
};

struct Movements {
  std::vector<SlowCopy> copies;
  std::vector<bool> prefetched;  // by piece
};

Movements follow(const std::vector<Use>& uses, const TensorSchedule& schedule, bool persistent, OpIndex op_count) {
  Movements result;
  const auto& pieces = schedule.pieces;
  result.prefetched.assign(pieces.size(), false);
  const bool starts_slow = persistent && !schedule.fast_at_start;
  bool slow_valid = starts_slow;
  if (starts_slow) result.copies.push_back({.ops = {0, op_count}, .evicted_piece = {}, .prefetched_pieces = {}});
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const FastPiece& piece = pieces[i];
    if (i > 0 || starts_slow) {
      SLUICE_CHECK(slow_valid, "a prefetch needs a copy in the slow tier");
      result.prefetched[i] = true;
      result.copies.back().prefetched_pieces.push_back(i);
    }
    if (const auto write = first_write(uses, piece.first_use, piece.last_use)) {
      if (slow_valid) result.copies.back().ops.end = *write;
      slow_valid = false;
    }
    const bool leaves = i + 1 < pieces.size() || starts_slow;
    if (leaves && !slow_valid) {
      // Room for what is written back after the last op is reserved from that op on.
      const OpIndex begin = std::min(piece.evict_after + 1, op_count - 1);
      result.copies.push_back({.ops = {begin, op_count}, .evicted_piece = i, .prefetched_pieces = {}});
      slow_valid = true;
    }
  }
  return result;
}

// An activation's slow copy is of no use after the last prefetch from it.
void trim(SlowCopy& copy, const TensorSchedule& schedule, bool persistent) {
  if (persistent) return;
  SLUICE_CHECK(!copy.prefetched_pieces.empty(), "an evicted activation must be needed again");
  copy.ops.end = schedule.pieces[copy.prefetched_pieces.back()].first_use;
}

// What is added for one tensor, or for each member of a block.
class ScheduleAdder {
 public:
  ScheduleAdder(PlanBuilder& builder, std::span<const TensorId> tensors) : builder_(builder), tensors_(tensors) {}

  using Residencies = std::vector<ResidencyIndex>;  // by tensor

  Residencies add_residencies(TierId tier, Interval<OpIndex> ops) {
    Residencies added;
    for (const TensorId tensor : tensors_) added.push_back(builder_.add_residency(tensor, tier, ops));
    if (tensors_.size() > 1) builder_.add_block(added);
    return added;
  }

  void add_migrations(const Residencies& from, const Residencies& to, OpIndex issue_after, OpIndex needed_by) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      builder_.add_migration(tensors_[i], from[i], to[i], issue_after, needed_by);
    }
  }

 private:
  PlanBuilder& builder_;
  std::span<const TensorId> tensors_;
};

}  // namespace

void add_block_schedule(PlanBuilder& builder, const Graph& graph, const std::vector<Use>& uses,
                        std::span<const TensorId> tensors, TierId slow, const TensorSchedule& schedule) {
  const bool persistent = is_persistent(graph.tensor(tensors.front()).role);
  Movements movements = follow(uses, schedule, persistent, graph.op_count());
  ScheduleAdder adder(builder, tensors);
  std::vector<ScheduleAdder::Residencies> fast;
  for (const FastPiece& piece : schedule.pieces) fast.push_back(adder.add_residencies(kFastTier, piece.ops));
  for (SlowCopy& copy : movements.copies) {
    trim(copy, schedule, persistent);
    if (copy.ops.empty()) continue;  // written by the very first op of the step: nothing ever reads the old value
    const ScheduleAdder::Residencies there = adder.add_residencies(slow, copy.ops);
    if (copy.evicted_piece) {
      const FastPiece& piece = schedule.pieces[*copy.evicted_piece];
      adder.add_migrations(fast[*copy.evicted_piece], there, piece.evict_after, piece.ops.end);
    }
    for (const std::size_t i : copy.prefetched_pieces) {
      const FastPiece& piece = schedule.pieces[i];
      adder.add_migrations(there, fast[i], piece.ops.begin - 1, piece.first_use);
    }
  }
}

void add_tensor_schedule(PlanBuilder& builder, const Graph& graph, const Liveness& liveness, TensorId tensor,
                         TierId slow, const TensorSchedule& schedule) {
  const std::vector<TensorId> alone{tensor};
  add_block_schedule(builder, graph, liveness.uses[static_cast<std::size_t>(tensor)], alone, slow, schedule);
}

TensorSchedule always_fast(const Liveness& liveness, TensorId tensor, bool persistent) {
  return fast_over(liveness.ranges[static_cast<std::size_t>(tensor)], persistent);
}

TensorSchedule fast_over(Interval<OpIndex> range, bool persistent) {
  TensorSchedule schedule{.fast_at_start = persistent, .pieces = {}};
  if (!range.empty()) {
    const OpIndex last = range.end - 1;
    schedule.pieces.push_back({.ops = range, .first_use = range.begin, .last_use = last, .evict_after = last});
  }
  return schedule;
}

}  // namespace sluice
