#include "sluice/planners/schedule/tensor_schedule.hpp"

#include <algorithm>
#include <optional>

namespace sluice::planners {
namespace {

// A copy in the slow tier: made by an eviction, by an op that writes there, or there at step start; valid until the
// tensor is written in the fast tier.
struct SlowCopy {
  Interval<graph::OpIndex> ops;
  std::optional<std::size_t> evicted_piece;
  std::vector<std::size_t> prefetched_pieces;
  graph::OpIndex last_needed = 0;  // by the op that finds it in place, or that a prefetch from it must be done for
};

// Walks the step's uses and follows where valid copies are.
class Follower {
 public:
  Follower(const std::vector<graph::Use>& uses, const TensorSchedule& schedule, bool persistent,
           graph::OpIndex op_count)
      : uses_(uses), schedule_(schedule), op_count_(op_count), starts_slow_(persistent && !schedule.fast_at_start) {
    if (starts_slow_) begin_copy(0);
  }

  void run() {
    auto use = uses_.begin();
    for (std::size_t i = 0; i < schedule_.pieces.size(); ++i) {
      const FastPiece& piece = schedule_.pieces[i];
      for (; use != uses_.end() && use->op < piece.first_use; ++use) use_in_place(*use);
      if (i > 0 || starts_slow_ || use != uses_.begin()) prefetch(i);
      for (; use != uses_.end() && use->op <= piece.last_use; ++use) {
        if (use->writes) lose_copy(use->op);
      }
      if (i + 1 < schedule_.pieces.size() || starts_slow_ || use != uses_.end()) leave(i);
    }
    for (; use != uses_.end(); ++use) use_in_place(*use);
  }

  std::vector<SlowCopy> copies;
  std::vector<graph::OpIndex> in_place;  // ops that use the slow copy directly

 private:
  void begin_copy(graph::OpIndex begin) {
    copies.push_back({.ops = {begin, op_count_}, .evicted_piece = {}, .prefetched_pieces = {}});
    valid_ = true;
  }

  void lose_copy(graph::OpIndex op) {
    if (valid_) copies.back().ops.end = op;
    valid_ = false;
  }

  void use_in_place(const graph::Use& use) {
    SLUICE_CHECK(valid_ || (use.writes && !use.reads), "a use in place needs a copy in the slow tier");
    if (!valid_) begin_copy(use.op);
    copies.back().last_needed = use.op + 1;
    in_place.push_back(use.op);
  }

  void prefetch(std::size_t piece) {
    SLUICE_CHECK(valid_, "a prefetch needs a copy in the slow tier");
    copies.back().prefetched_pieces.push_back(piece);
    copies.back().last_needed = schedule_.pieces[piece].first_use;
  }

  // Room for what is written back after the last op is reserved from that op on.
  void leave(std::size_t piece) {
    if (valid_) return;
    begin_copy(std::min(schedule_.pieces[piece].evict_after + 1, op_count_ - 1));
    copies.back().evicted_piece = piece;
  }

  const std::vector<graph::Use>& uses_;
  const TensorSchedule& schedule_;
  graph::OpIndex op_count_;
  bool starts_slow_;
  bool valid_ = false;  // the last copy
};

// An activation's slow copy is of no use after the last op that needs it.
void trim(SlowCopy& copy) {
  SLUICE_CHECK(copy.last_needed > copy.ops.begin, "an evicted activation must be needed again");
  copy.ops.end = std::min(copy.ops.end, copy.last_needed);
}

// The copies that take room: not one that is written by the very first op of the step, whose old value nothing reads.
std::vector<SlowCopy> copies_with_room(const std::vector<graph::Use>& uses, const TensorSchedule& schedule,
                                       bool persistent, graph::OpIndex op_count,
                                       std::vector<graph::OpIndex>* in_place = nullptr) {
  Follower follower(uses, schedule, persistent, op_count);
  follower.run();
  for (SlowCopy& copy : follower.copies) {
    if (!persistent) trim(copy);
  }
  std::erase_if(follower.copies, [](const SlowCopy& copy) { return copy.ops.empty(); });
  if (in_place != nullptr) *in_place = std::move(follower.in_place);
  return std::move(follower.copies);
}

// What is added for one tensor, or for each member of a block.
class ScheduleAdder {
 public:
  ScheduleAdder(plan::PlanBuilder& builder, std::span<const graph::TensorId> tensors)
      : builder_(builder), tensors_(tensors) {}

  using Residencies = std::vector<plan::ResidencyIndex>;  // by tensor

  Residencies add_residencies(memory::TierId tier, Interval<graph::OpIndex> ops) {
    Residencies added;
    for (const graph::TensorId tensor : tensors_) added.push_back(builder_.add_residency(tensor, tier, ops));
    if (tensors_.size() > 1) builder_.add_block(added);
    return added;
  }

  void use_in(memory::TierId tier, graph::OpIndex op) {
    for (const graph::TensorId tensor : tensors_) builder_.set_tensor_tier(op, tensor, tier);
  }

  void add_migrations(const Residencies& from, const Residencies& to, graph::OpIndex issue_after,
                      graph::OpIndex needed_by, plan::Cause cause) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      builder_.add_migration(tensors_[i], from[i], to[i], issue_after, needed_by, cause);
    }
  }

 private:
  plan::PlanBuilder& builder_;
  std::span<const graph::TensorId> tensors_;
};

}  // namespace

SlowDemand slow_demand(const std::vector<graph::Use>& uses, const TensorSchedule& schedule, bool persistent,
                       graph::OpIndex op_count) {
  SlowDemand demand;
  for (const SlowCopy& copy : copies_with_room(uses, schedule, persistent, op_count)) {
    demand.ranges.push_back(copy.ops);
    if (copy.evicted_piece) demand.evicted_after.push_back(schedule.pieces[*copy.evicted_piece].evict_after);
    for (const std::size_t i : copy.prefetched_pieces) demand.prefetched_for.push_back(schedule.pieces[i].first_use);
  }
  return demand;
}

void add_block_schedule(plan::PlanBuilder& builder, const graph::Graph& graph, const std::vector<graph::Use>& uses,
                        std::span<const graph::TensorId> tensors, memory::TierId slow, const TensorSchedule& schedule) {
  const bool persistent = graph::is_persistent(graph.tensor(tensors.front()).role);
  std::vector<graph::OpIndex> in_place;
  const std::vector<SlowCopy> copies = copies_with_room(uses, schedule, persistent, graph.op_count(), &in_place);
  ScheduleAdder adder(builder, tensors);
  for (const graph::OpIndex op : in_place) adder.use_in(slow, op);
  std::vector<ScheduleAdder::Residencies> fast;
  for (const FastPiece& piece : schedule.pieces) fast.push_back(adder.add_residencies(memory::kFastTier, piece.ops));
  for (const SlowCopy& copy : copies) {
    const ScheduleAdder::Residencies there = adder.add_residencies(slow, copy.ops);
    if (copy.evicted_piece) {
      const FastPiece& piece = schedule.pieces[*copy.evicted_piece];
      adder.add_migrations(fast[*copy.evicted_piece], there, piece.evict_after, piece.ops.end, piece.leaves);
    }
    for (const std::size_t i : copy.prefetched_pieces) {
      const FastPiece& piece = schedule.pieces[i];
      const graph::OpIndex here_by = piece.here_by > 0 ? piece.here_by : piece.first_use;
      adder.add_migrations(there, fast[i], piece.ops.begin - 1, here_by, piece.comes);
    }
  }
}

void add_tensor_schedule(plan::PlanBuilder& builder, const graph::Graph& graph, const graph::Liveness& liveness,
                         graph::TensorId tensor, memory::TierId slow, const TensorSchedule& schedule) {
  const std::vector<graph::TensorId> alone{tensor};
  add_block_schedule(builder, graph, liveness.uses[tensor], alone, slow, schedule);
}

TensorSchedule always_fast(const graph::Liveness& liveness, graph::TensorId tensor, bool persistent) {
  return fast_over(liveness.ranges[tensor], persistent);
}

TensorSchedule fast_over(Interval<graph::OpIndex> range, bool persistent) {
  TensorSchedule schedule{.fast_at_start = persistent, .pieces = {}};
  if (!range.empty()) {
    const graph::OpIndex last = range.end - 1;
    schedule.pieces.push_back({.ops = range, .first_use = range.begin, .last_use = last, .evict_after = last});
  }
  return schedule;
}

}  // namespace sluice::planners
