#include "sluice/planners/schedule/paged_step.hpp"

#include <algorithm>
#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/rooms.hpp"

namespace sluice::planners {
namespace {

// Who is there: by class, and in each by rank, so that the front leaves first.
class Residents {
 public:
  explicit Residents(const PagingRule& rule) : rule_(rule), of_class_(1) {
    const auto most = std::ranges::max_element(rule.class_of);
    if (most != rule.class_of.end()) of_class_.resize(as_index(*most) + 1);
  }

  using Entry = std::pair<std::int64_t, graph::TensorId>;

  void insert(Entry entry) { of_class_[class_of(entry.second)].insert(entry); }
  void erase(Entry entry) { of_class_[class_of(entry.second)].erase(entry); }

  // The first that may leave for `coming`; nothing where none may.
  template <typename MayLeave>
  std::optional<graph::TensorId> victim(graph::TensorId coming, const MayLeave& may_leave) const {
    std::optional<Entry> found = first(of_class_[class_of(coming)], may_leave);
    if (found) return found->second;
    for (const std::set<Entry>& others : of_class_) {
      const std::optional<Entry> other = first(others, may_leave);
      if (other && (!found || *other < *found)) found = other;
    }
    return found ? std::optional(found->second) : std::nullopt;
  }

  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const std::set<Entry>& entries : of_class_) {
      for (const Entry& entry : entries) visit(entry.second);
    }
  }

 private:
  template <typename MayLeave>
  static std::optional<Entry> first(const std::set<Entry>& entries, const MayLeave& may_leave) {
    const auto found = std::ranges::find_if(entries, [&](const Entry& entry) { return may_leave(entry.second); });
    return found == entries.end() ? std::nullopt : std::optional(*found);
  }

  std::size_t class_of(graph::TensorId id) const { return rule_.class_of.empty() ? 0 : as_index(rule_.class_of[id]); }

  const PagingRule& rule_;
  std::vector<std::set<Entry>> of_class_;
};

class PagedStep {
 public:
  PagedStep(const PagedOps& ops, Bytes capacity, const PagingRule& rule, const std::set<graph::TensorId>& at_start)
      : ops_(ops),
        capacity_(capacity),
        rule_(rule),
        residents_(rule),
        schedules_(ops.graph.tensors().size()),
        rank_(ops.graph.tensors().size(), 0),
        is_resident_(ops.graph.tensors().size(), false),
        locked_(ops.graph.tensors().size(), false) {
    for (const graph::TensorId id : ops.operands.back()) locked_[id] = is_kept(id);
    for (const graph::TensorId id : at_start) {
      schedules_[id].fast_at_start = true;
      open_piece(id, 0, plan::kStepStart);
    }
  }

  // False when some op's operands exceed the capacity.
  bool run() {
    for (graph::OpIndex op = 0; op < ops_.op_count(); ++op) {
      if (!bring_operands(op)) return false;
      free_dead(op);
    }
    return true;
  }

  // Persistent tensors in the fast tier now, without those that were evicted before their first use.
  std::set<graph::TensorId> persistent_residents() const;
  IdVector<graph::TensorId, TensorSchedule> finish(const std::set<graph::TensorId>& at_start);

 private:
  FastPiece& current(graph::TensorId id) { return schedules_[id].pieces.back(); }
  Bytes bytes(graph::TensorId id) const { return plan::stored_bytes(ops_.graph.tensor(id)); }
  bool is_kept(graph::TensorId id) const { return graph::is_persistent(ops_.graph.tensor(id).role); }

  void open_piece(graph::TensorId id, graph::OpIndex op, graph::OpIndex touched) {
    schedules_[id].pieces.push_back({.ops = {op, ops_.op_count()},
                                     .first_use = -1,
                                     .last_use = op,
                                     .evict_after = op,
                                     .comes = plan::Cause::kMissing});
    rank_[id] = rule_.rank(id, touched);
    residents_.insert({rank_[id], id});
    is_resident_[id] = true;
    used_ += bytes(id);
  }

  void close_piece(graph::TensorId id, graph::OpIndex end, graph::OpIndex evict_after, plan::Cause cause) {
    current(id).leaves = cause;
    current(id).ops.end = end;
    current(id).evict_after = evict_after;
    residents_.erase({rank_[id], id});
    is_resident_[id] = false;
    used_ -= bytes(id);
  }

  void touch(graph::TensorId id, graph::OpIndex op) {
    const std::int64_t rank = rule_.rank(id, op);
    if (rank == rank_[id]) return;
    residents_.erase({rank_[id], id});
    residents_.insert({rank_[id] = rank, id});
  }

  bool bring_operands(graph::OpIndex op);
  bool make_room(graph::OpIndex op, Bytes needed, graph::TensorId coming);
  void free_dead(graph::OpIndex op);

  const PagedOps& ops_;
  Bytes capacity_;
  const PagingRule& rule_;
  Residents residents_;
  IdVector<graph::TensorId, TensorSchedule> schedules_;
  IdVector<graph::TensorId, std::int64_t> rank_;
  IdVector<graph::TensorId, bool> is_resident_;
  IdVector<graph::TensorId, bool> locked_;
  std::set<graph::TensorId> evicted_unused_;
  Bytes used_ = 0;
};

bool PagedStep::bring_operands(graph::OpIndex op) {
  Bytes needed = 0;
  for (const graph::TensorId id : ops_.operands[op]) {
    if (is_resident_[id]) continue;
    needed += bytes(id);
    if (!make_room(op, needed, id)) return false;
  }
  for (const graph::TensorId id : ops_.operands[op]) {
    if (!is_resident_[id]) open_piece(id, op, op);
    FastPiece& piece = current(id);
    if (piece.first_use < 0) piece.first_use = op;
    piece.last_use = piece.evict_after = op;
    touch(id, op);
  }
  return true;
}

bool PagedStep::make_room(graph::OpIndex op, Bytes needed, graph::TensorId coming) {
  const std::span<const graph::TensorId> operands = ops_.operands[op];
  while (used_ + needed > capacity_) {
    const std::optional<graph::TensorId> victim = residents_.victim(coming, [&](graph::TensorId id) {
      const bool output = ops_.graph.tensor(id).role == graph::Role::kOutput;
      return !locked_[id] && !output && std::ranges::find(operands, id) == operands.end();
    });
    if (!victim) return false;
    close_piece(*victim, op, op - 1, rule_.leaves);
    if (current(*victim).first_use < 0) evicted_unused_.insert(*victim);
  }
  return true;
}

void PagedStep::free_dead(graph::OpIndex op) {
  for (const graph::TensorId id : ops_.operands[op]) {
    if (ops_.liveness.ranges[id].end == op + 1 && !is_kept(id)) close_piece(id, op + 1, op, plan::Cause::kUnsaid);
  }
}

// What was not in the fast tier at the start is written back before the step ends.
IdVector<graph::TensorId, TensorSchedule> PagedStep::finish(const std::set<graph::TensorId>& at_start) {
  const graph::OpIndex last = ops_.op_count() - 1;
  std::vector<graph::TensorId> left;
  residents_.for_each([&](graph::TensorId id) {
    if (is_kept(id) && !at_start.contains(id)) left.push_back(id);
  });
  for (const graph::TensorId id : left)
    close_piece(id, last + 1, std::max(current(id).last_use, last - 1), plan::Cause::kStepEnds);
  return std::move(schedules_);
}

std::set<graph::TensorId> PagedStep::persistent_residents() const {
  std::set<graph::TensorId> result;
  residents_.for_each([&](graph::TensorId id) {
    if (is_kept(id) && !evicted_unused_.contains(id)) result.insert(id);
  });
  return result;
}

}  // namespace

std::optional<IdVector<graph::TensorId, TensorSchedule>> schedule_paged(const PagedOps& ops, Bytes capacity,
                                                                        const PagingRule& rule) {
  PagedStep cold(ops, capacity, rule, {});
  if (!cold.run()) return std::nullopt;
  std::set<graph::TensorId> at_start = cold.persistent_residents();
  while (true) {
    PagedStep step(ops, capacity, rule, at_start);
    if (!step.run()) return std::nullopt;
    const std::set<graph::TensorId> at_end = step.persistent_residents();
    std::set<graph::TensorId> both;
    std::ranges::set_intersection(at_start, at_end, std::inserter(both, both.begin()));
    if (both == at_start) return step.finish(at_start);
    at_start = std::move(both);
  }
}

}  // namespace sluice::planners
