#include "sluice/planners/joint/list_schedule.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include "sluice/base/as_index.hpp"
#include "sluice/sim/link_traffic.hpp"

namespace sluice::planners {
namespace {

using sim::kNever;

constexpr int kMostLookedAt = 12;      // prefetches that a lane chooses from
constexpr double kShiftedShare = 0.8;  // of the time by which a prefetch could begin later

// The copies of a link that run and wait.
struct Lane {
  bool inward = false;
  std::deque<std::size_t> waiting;  // gaps: inward by when they are needed, outward as they left
  std::optional<std::size_t> under_way;
};

// A prefetch as it ran.
struct Prefetch {
  std::size_t gap = 0;
  Seconds begin = 0;
  Seconds end = 0;
};

std::size_t link_count(std::span<const MovingUnit> units) {
  memory::LinkId last = -1;
  for (const MovingUnit& unit : units) last = std::max({last, unit.slow.inward, unit.slow.outward});
  return as_index(last + 1);
}

class StepRun {
 public:
  StepRun(std::span<const MovingUnit> units, const profile::CostModel& costs, graph::OpIndex op_count,
          std::vector<Gap>& gaps, ReservationTable& table, std::span<const Seconds> op_seconds)
      : units_(units),
        traffic_(costs, link_count(units)),
        op_count_(op_count),
        gaps_(gaps),
        table_(table),
        op_seconds_(op_seconds),
        in_slow_(gaps.size(), false) {
    leave_behind_.resize(as_index(op_count));
    std::vector<std::size_t> coming;
    for (std::size_t i = 0; i < gaps.size(); ++i) {
      if (!gaps[i].cut || gaps[i].is_birth()) continue;
      if (!gaps[i].left_slow()) coming.push_back(i);
      leave_behind_[as_index(gaps[i].previous_use)].push_back(i);
      in_slow_[i] = gaps[i].wraps();
    }
    std::ranges::stable_sort(coming, {}, [&](std::size_t i) { return gaps_[i].next_use; });
    for (const std::size_t i : coming) lane(inward(i), true).waiting.push_back(i);
  }

  // When the last op has ended and all has left.
  Seconds run() {
    for (graph::OpIndex op = 0; op < op_count_; ++op) {
      wait_for(op);
      run_op(op);
      for (const std::size_t i : leave_behind_[as_index(op)]) leave(i);
    }
    start_copies(op_count_);
    for (; traffic_.next_end() < kNever; start_copies(op_count_)) {
      now_ = std::max(now_, traffic_.next_end());
      finish_copy(op_count_);
    }
    return now_;
  }

  // Prefetches that had room early begin later, as far as no op then waits longer: what room they leave makes offsets
  // easier to find. From the last one backwards, on each lane.
  void begin_later() {
    for (const auto& [link, prefetches] : prefetches_) {
      Seconds lane_taken = kNever;
      for (std::size_t i = prefetches.size(); i-- > 0;) {
        const Prefetch& each = prefetches[i];
        Gap& gap = gaps_[each.gap];
        const Seconds latest_end = std::min(op_begin_[as_index(gap.next_use)], lane_taken);
        const Seconds slack = std::max(0.0, latest_end - each.end);
        lane_taken = each.begin + kShiftedShare * slack;
        shift(gap, lane_taken);
      }
    }
  }

 private:
  void shift(Gap& gap, Seconds begin) {
    const auto after = std::ranges::upper_bound(op_begin_, begin);
    const auto slot = as_id<graph::OpIndex>(std::max<std::ptrdiff_t>(0, after - op_begin_.begin() - 1));
    if (slot <= gap.window_begin) return;
    const graph::OpIndex later = std::min(slot, gap.next_use);
    table_.reserve({gap.window_begin, later}, -gap.bytes);
    gap.window_begin = later;
  }

  memory::LinkId inward(std::size_t gap) const { return units_[gaps_[gap].unit].slow.inward; }
  memory::LinkId outward(std::size_t gap) const { return units_[gaps_[gap].unit].slow.outward; }
  Lane& lane(memory::LinkId link, bool is_inward) {
    return lanes_.try_emplace(link, Lane{.inward = is_inward}).first->second;
  }

  void leave(std::size_t i) {
    Gap& gap = gaps_[i];
    if (!gap.writes) {
      in_slow_[i] = true;
      return;
    }
    gap.tail_end = gap.wraps() ? op_count_ : gap.next_use;  // until the copy is seen to be done
    tails_ += gap.bytes;
    lane(outward(i), false).waiting.push_back(i);
  }

  // Until what op `op` needs has come and there is room for it.
  void wait_for(graph::OpIndex op) {
    start_copies(op);
    while (is_missing(op) || table_.used(op) + tails_ > table_.capacity()) {
      bring_at_once(op);
      if (traffic_.next_end() == kNever) return;  // nothing is under way that would help
      now_ = std::max(now_, traffic_.next_end());
      finish_copy(op);
      start_copies(op);
    }
  }

  bool is_missing(graph::OpIndex op) const {
    return std::ranges::any_of(lanes_, [&](const auto& each) {
      const Lane& lane = each.second;
      const auto needed = [&](std::size_t i) {
        const bool used_there = gaps_[i].left_slow() && !gaps_[i].wraps();
        return gaps_[i].next_use == op && (lane.inward || used_there);
      };
      return (lane.under_way && needed(*lane.under_way)) || std::ranges::any_of(lane.waiting, needed);
    });
  }

  // What the op waits for need not wait for room: its operands have theirs.
  void bring_at_once(graph::OpIndex op) {
    for (auto& [link, lane] : lanes_) {
      if (!lane.inward || lane.under_way) continue;
      const auto due =
          std::ranges::find_if(lane.waiting, [&](std::size_t i) { return gaps_[i].next_use == op && in_slow_[i]; });
      if (due != lane.waiting.end()) start_prefetch(link, lane, *due, op);
    }
  }

  void run_op(graph::OpIndex op) {
    op_begin_.push_back(now_);
    sim::UnderWay run{.end = now_ + op_seconds_[as_index(op)], .speed = 1};
    run.go_at(traffic_.compute_speed(), now_);
    while (traffic_.next_end() < run.end) {
      now_ = std::max(now_, traffic_.next_end());
      finish_copy(op + 1);
      start_copies(op);
      run.go_at(traffic_.compute_speed(), now_);
    }
    now_ = run.end;
  }

  // The first copy to end. What has left gives its room to op `first_with_room`.
  void finish_copy(graph::OpIndex first_with_room) {
    const memory::LinkId link = *traffic_.first_to_end();
    traffic_.finish(link);
    Lane& lane = lanes_.at(link);
    const std::size_t i = *lane.under_way;
    lane.under_way.reset();
    if (lane.inward) {
      prefetches_[link].back().end = now_;
      return;
    }
    Gap& gap = gaps_[i];
    tails_ -= gap.bytes;
    gap.tail_end = std::max(gap.previous_use + 1, first_with_room);
    table_.reserve({gap.previous_use + 1, gap.tail_end}, gap.bytes);
    in_slow_[i] = true;
  }

  // `slot`: the op that runs, or that is about to.
  void start_copies(graph::OpIndex slot) {
    for (auto& [link, lane] : lanes_) {
      if (lane.under_way || lane.waiting.empty()) continue;
      if (lane.inward) {
        if (const auto chosen = choose_prefetch(lane, slot)) start_prefetch(link, lane, *chosen, slot);
      } else {
        start(link, lane, lane.waiting.front());
        lane.waiting.pop_front();
      }
    }
    traffic_.share(now_);
  }

  std::optional<std::size_t> choose_prefetch(const Lane& lane, graph::OpIndex slot) const {
    std::optional<std::size_t> first;  // needed first, and without room yet
    int looked_at = 0;
    for (const std::size_t i : lane.waiting) {
      if (!in_slow_[i]) continue;
      if (++looked_at > kMostLookedAt) break;
      if (!has_room(gaps_[i], slot)) {
        if (!first) first = i;
      } else if (!first || leaves_room_for(gaps_[i], gaps_[*first], slot)) {
        return i;
      }
    }
    return std::nullopt;
  }

  bool has_room(const Gap& gap, graph::OpIndex slot) const {
    if (slot >= gap.next_use) return true;
    return table_.fits({slot, gap.next_use}, gap.bytes) && table_.used(slot) + tails_ + gap.bytes <= table_.capacity();
  }

  // Whether `first` still gets the window that it would have without `later`.
  bool leaves_room_for(const Gap& later, const Gap& first, graph::OpIndex slot) const {
    const graph::OpIndex begin = table_.fits_backward(first.next_use, slot, first.bytes);
    const graph::OpIndex end = std::min(first.next_use, later.next_use);
    return table_.fits({std::min(begin, end), end}, first.bytes + later.bytes);
  }

  void start_prefetch(memory::LinkId link, Lane& lane, std::size_t i, graph::OpIndex slot) {
    Gap& gap = gaps_[i];
    gap.window_begin = std::min(slot, gap.next_use);
    table_.reserve({gap.window_begin, gap.next_use}, gap.bytes);
    lane.waiting.erase(std::ranges::find(lane.waiting, i));
    prefetches_[link].push_back({.gap = i, .begin = now_});
    start(link, lane, i);
  }

  void start(memory::LinkId link, Lane& lane, std::size_t i) {
    lane.under_way = i;
    traffic_.start(link, units_[gaps_[i].unit].load(), now_);
  }

  std::span<const MovingUnit> units_;
  sim::LinkTraffic traffic_;
  graph::OpIndex op_count_;
  std::vector<Gap>& gaps_;
  ReservationTable& table_;
  std::span<const Seconds> op_seconds_;
  std::vector<bool> in_slow_;                           // by gap: its copy is there
  std::vector<std::vector<std::size_t>> leave_behind_;  // by op: cut gaps
  std::map<memory::LinkId, Lane> lanes_;
  std::map<memory::LinkId, std::vector<Prefetch>> prefetches_;  // in the order in which they began
  std::vector<Seconds> op_begin_;
  Bytes tails_ = 0;  // of what leaves and has not left yet
  Seconds now_ = 0;
};

}  // namespace

Seconds list_schedule(std::span<const MovingUnit> units, const profile::CostModel& costs, graph::OpIndex op_count,
                      std::vector<Gap>& gaps, ReservationTable& table, std::span<const Seconds> op_seconds) {
  mark_writes(units, gaps);
  StepRun run(units, costs, op_count, gaps, table, op_seconds);
  const Seconds seconds = run.run();
  run.begin_later();
  for (Gap& gap : gaps) {
    if (!gap.cut || gap.wraps() || gap.must_cut || gap.is_birth()) continue;
    const Interval<graph::OpIndex> away{gap.tail_end, gap.window_begin};
    if (gap.tail_end < gap.window_begin && !table.fits(away, gap.bytes)) continue;
    table.reserve(away, gap.bytes);
    gap.cut = false;
  }
  return seconds;
}

}  // namespace sluice::planners
