#include "sluice/planners/swapadvisor/swap_times.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/rooms.hpp"

namespace sluice::planners {
namespace {

// Runs the step in time, op after op.
class SwapClock {
 public:
  SwapClock(const PagedOps& ops, const SwapTimes& times, Bytes capacity,
            IdVector<graph::TensorId, TensorSchedule>& schedules)
      : ops_(ops),
        times_(times),
        capacity_(capacity),
        schedules_(schedules),
        gone_(schedules.size(), 0),
        used_(as_index(ops.op_count()), 0),
        end_(as_index(ops.op_count()), 0),
        begin_(as_index(ops.op_count())),
        leave_(as_index(ops.op_count())),
        must_be_gone_(as_index(ops.op_count()) + 1) {
    for (graph::TensorId id = 0; id < ops.graph.tensor_count(); ++id) find_pieces(id);
  }

  Seconds run() {
    for (graph::OpIndex op = 0; op < ops_.op_count(); ++op) {
      for (const std::size_t i : must_be_gone_[as_index(op)]) wait_until_gone(pieces_[i], op);
      for (const std::size_t i : begin_[as_index(op)]) begin(i, op);
      for (const std::size_t i : open_) {
        if (pieces_[i].gone <= now_) end_room(pieces_[i], op);
      }
      std::erase_if(open_, [&](std::size_t i) { return !pieces_[i].has_room; });
      used_[op] = there_;
      end_[op] = now_ += times_.op[op];
      for (const std::size_t i : leave_[as_index(op)]) leave(i, op);
    }
    join_pieces();
    return std::max(now_, out_free_);
  }

 private:
  struct Piece {
    graph::TensorId tensor = 0;
    std::size_t index = 0;  // of the tensor's pieces
    bool comes = false;     // by a copy
    bool leaves = false;    // not because it is dead, or the step is over
    bool writes = false;    // it leaves, and no valid copy is in slow memory
    bool joins = false;     // there was room since the piece before it
    bool has_room = false;
    Seconds gone = 0;
  };

  FastPiece& fast(const Piece& piece) { return schedules_[piece.tensor].pieces[piece.index]; }
  Bytes bytes(graph::TensorId id) const { return plan::stored_bytes(ops_.graph.tensor(id)); }

  void find_pieces(graph::TensorId id);
  void begin(std::size_t i, graph::OpIndex op);
  void come(std::size_t i, graph::OpIndex op);
  void leave(std::size_t i, graph::OpIndex op);
  graph::OpIndex first_with_room(const Piece& piece, graph::OpIndex from, graph::OpIndex op) const;
  void join_pieces();

  void wait_until_gone(Piece& piece, graph::OpIndex op) {
    if (!piece.has_room) return;
    now_ = std::max(now_, piece.gone);
    end_room(piece, op);
  }

  void end_room(Piece& piece, graph::OpIndex op) {
    if (!piece.has_room) return;
    fast(piece).ops.end = op;
    piece.has_room = false;
    there_ -= bytes(piece.tensor);
  }

  const PagedOps& ops_;
  const SwapTimes& times_;
  Bytes capacity_;
  IdVector<graph::TensorId, TensorSchedule>& schedules_;
  std::vector<Piece> pieces_;                // a tensor's follow each other
  IdVector<graph::TensorId, Seconds> gone_;  // when its last copy out was done
  IdVector<graph::OpIndex, Bytes> used_;
  IdVector<graph::OpIndex, Seconds> end_;
  std::vector<std::vector<std::size_t>> begin_, leave_, must_be_gone_;  // by op: pieces
  std::vector<std::size_t> open_;                                       // that leave and have room
  Bytes there_ = 0;
  graph::OpIndex last_window_ = 0;  // of what came last
  Seconds now_ = 0, out_free_ = 0, in_free_ = 0;
};

void SwapClock::find_pieces(graph::TensorId id) {
  const TensorSchedule& schedule = schedules_[id];
  const bool starts_slow = graph::is_persistent(ops_.graph.tensor(id).role) && !schedule.fast_at_start;
  bool valid = starts_slow;  // the copy in slow memory
  auto use = ops_.liveness.uses[id].begin();
  for (std::size_t i = 0; i < schedule.pieces.size(); ++i) {
    const FastPiece& at = schedule.pieces[i];
    const bool leaves = i + 1 < schedule.pieces.size() || starts_slow;
    for (; use != ops_.liveness.uses[id].end() && use->op <= at.last_use; ++use) valid = valid && !use->writes;
    begin_[as_index(at.ops.begin)].push_back(pieces_.size());
    const graph::OpIndex last = leaves ? at.last_use : at.ops.end - 1;
    leave_[as_index(last)].push_back(pieces_.size());
    pieces_.push_back(
        {.tensor = id, .index = i, .comes = i > 0 || starts_slow, .leaves = leaves, .writes = leaves && !valid});
    valid = valid || leaves;
  }
}

void SwapClock::begin(std::size_t i, graph::OpIndex op) {
  pieces_[i].has_room = true;
  there_ += bytes(pieces_[i].tensor);
  if (pieces_[i].comes) come(i, op);
}

// The earliest begin of room that lasts until `op`, not before `from`.
graph::OpIndex SwapClock::first_with_room(const Piece& piece, graph::OpIndex from, graph::OpIndex op) const {
  const Bytes needed = bytes(piece.tensor);
  graph::OpIndex begin = op;
  while (begin > from && used_[begin - 1] + needed <= capacity_) --begin;
  return begin;
}

void SwapClock::come(std::size_t i, graph::OpIndex op) {
  Piece& piece = pieces_[i];
  const graph::OpIndex since = piece.index > 0 ? fast(pieces_[i - 1]).ops.end : 0;
  graph::OpIndex window = first_with_room(piece, since, op);
  piece.joins = piece.index > 0 && window == since;
  if (!piece.joins) window = std::max(window, std::min(last_window_, op));
  for (graph::OpIndex before = window; before < op; ++before) used_[before] += bytes(piece.tensor);
  fast(piece).ops.begin = window;
  if (piece.joins) {
    piece.writes = piece.writes || (piece.leaves && pieces_[i - 1].writes);
    return;
  }
  last_window_ = window;
  fast(piece).comes = window < op ? plan::Cause::kAsSoonAsRoom : plan::Cause::kMissing;
  const Seconds issued = window == 0 ? 0 : end_[window - 1];
  in_free_ = std::max({in_free_, issued, gone_[piece.tensor]}) + times_.in[piece.tensor];
  now_ = std::max(now_, in_free_);
}

void SwapClock::leave(std::size_t i, graph::OpIndex op) {
  Piece& piece = pieces_[i];
  if (!piece.writes) {
    fast(piece).evict_after = op;
    end_room(piece, op + 1);
    return;
  }
  out_free_ = std::max(out_free_, now_) + times_.out[piece.tensor];
  gone_[piece.tensor] = piece.gone = out_free_;
  fast(piece).evict_after = op;
  must_be_gone_[as_index(fast(piece).ops.end)].push_back(i);
  open_.push_back(i);
}

void SwapClock::join_pieces() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!pieces_[i].joins) continue;
    FastPiece& before = fast(pieces_[i - 1]);
    FastPiece& joined = fast(pieces_[i]);
    joined.ops.begin = before.ops.begin;
    joined.first_use = before.first_use;
    joined.comes = before.comes;
    before.ops = {};
  }
  for (TensorSchedule& schedule : schedules_) {
    std::erase_if(schedule.pieces, [](const FastPiece& piece) { return piece.ops.empty(); });
  }
}

}  // namespace

Seconds spread_swaps(const PagedOps& ops, const SwapTimes& times, Bytes capacity,
                     IdVector<graph::TensorId, TensorSchedule>& schedules) {
  return SwapClock(ops, times, capacity, schedules).run();
}

}  // namespace sluice::planners
