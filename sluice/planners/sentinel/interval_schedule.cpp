#include "sluice/planners/sentinel/interval_schedule.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "sluice/base/as_index.hpp"
#include "sluice/planners/schedule/reservation_table.hpp"
#include "sluice/planners/sentinel/short_lived_pool.hpp"
#include "sluice/planners/sentinel/unit_accesses.hpp"

namespace sluice::planners {
namespace {

class IntervalScheduler {
 public:
  IntervalScheduler(const ScheduleProblem& problem, const ScheduleOptions& options, Bytes capacity,
                    const Forecast& forecast)
      : problem_(problem),
        options_(options),
        forecast_(forecast),
        cut_(cut_into_intervals(problem.liveness, options.interval_length)),
        gaps_(find_gaps(problem.units, problem.graph.op_count(), options.small_bytes, short_lived_move(options))),
        table_(problem.graph.op_count(), capacity) {
    leave_in_slow(gaps_, options.left_out);
  }

  bool everything_fits() const;
  bool reserve_operands();
  void hand_out_room(bool to_short_lived);
  void keep_what_still_fits();
  void start_earlier();
  IntervalSchedule schedules() const;

 private:
  bool comes_last(const Gap& gap) const;
  void keep_short_gaps(bool last);
  void give_tails(bool last);
  void give_windows(bool last);
  int interval_of(graph::OpIndex op) const { return cut_.interval_of_op[op]; }
  Seconds start_of(graph::OpIndex op) const { return forecast_.start[as_index(op)]; }
  Seconds duration(const Gap& gap) const;
  double copy_price(memory::LinkId link, const MovingUnit& unit, graph::OpIndex op) const;
  Seconds copy_seconds(memory::LinkId link, const Gap& gap) const;
  const SlowTier& slow_of(const Gap& gap) const { return problem_.units[gap.unit].slow; }
  double saving(const Gap& gap) const;
  bool inside_one_interval(const Gap& gap) const;
  bool needed_soon(const Gap& gap) const;
  graph::OpIndex earliest_window(const Gap& gap) const;
  plan::Cause cause_of_leaving() const;
  plan::Cause cause_of_coming(const Gap& gap) const;
  std::vector<std::size_t> windows_in_order() const;
  std::vector<graph::OpIndex> begins_by_the_clock(const std::vector<Gap*>& prefetches) const;

  const ScheduleProblem& problem_;
  const ScheduleOptions& options_;
  const Forecast& forecast_;
  IntervalCut cut_;
  std::vector<Gap> gaps_;
  ReservationTable table_;
};

// With small tensors side by side on shared pages, as they are when nothing moves.
bool IntervalScheduler::everything_fits() const {
  ReservationTable all(problem_.graph.op_count(), table_.capacity());
  for (const MovingUnit& unit : problem_.units) all.reserve(unit.range, unit.kept_bytes);
  return all.fits({0, problem_.graph.op_count()}, 0);
}

// Everything outside the gaps: a unit's live range less the gaps that may be cut.
bool IntervalScheduler::reserve_operands() {
  cut_all(problem_.units, gaps_, problem_.graph.op_count(), table_);
  release_uses_in_slow(problem_.units, gaps_, table_);
  if (!options_.lending && !short_lived_move(options_)) reserve_idle_pool(problem_.units, cut_, table_);
  for (graph::OpIndex op = 0; op < problem_.graph.op_count(); ++op) {
    if (table_.used(op) > table_.capacity()) return false;
  }
  return true;
}

Seconds IntervalScheduler::duration(const Gap& gap) const {
  Seconds total = 0;
  for (const auto& range : gap_ranges(gap, problem_.graph.op_count()))
    total += start_of(range.end) - start_of(range.begin);
  return total;
}

// Of a byte: the lane's time at its price at that moment, and the compute time lost beside it.
double IntervalScheduler::copy_price(memory::LinkId link, const MovingUnit& unit, graph::OpIndex op) const {
  constexpr Bytes kMany = kGiB;  // so that latency does not count
  const profile::CostModel& costs = problem_.costs;
  const profile::Load load = unit.load();
  const double share = costs.transfer_seconds(link, load) / costs.transfer_seconds(link, load.bytes);
  const double price = forecast_.price(link, op) + costs.interference(link, load);
  return share * costs.transfer_seconds(link, kMany) / kMany * price;
}

Seconds IntervalScheduler::copy_seconds(memory::LinkId link, const Gap& gap) const {
  return problem_.costs.transfer_seconds(link, problem_.units[gap.unit].load());
}

// What keeping the gap saves, a byte. A parameter that was only read so far this step leaves without a copy.
double IntervalScheduler::saving(const Gap& gap) const {
  const MovingUnit& unit = problem_.units[gap.unit];
  const double inward = copy_price(unit.slow.inward, unit, gap.next_use);
  if (unit.persistent && !gap.wraps()) return inward;
  return inward + copy_price(unit.slow.outward, unit, gap.previous_use);
}

bool IntervalScheduler::inside_one_interval(const Gap& gap) const {
  return !gap.wraps() && interval_of(gap.previous_use) == interval_of(gap.next_use);
}

// By the interval of the last use, or by the next one.
bool IntervalScheduler::needed_soon(const Gap& gap) const {
  const int count = count_of(cut_.intervals);
  const int next = interval_of(gap.next_use) + (gap.wraps() ? count : 0);
  return next <= interval_of(gap.previous_use) + 1;
}

// Where nothing is reserved for short-lived tensors, what moves for this interval or the next one took its room when the
// interval began: before they were made.
bool IntervalScheduler::comes_last(const Gap& gap) const {
  return options_.migration != SentinelMigration::kAll && problem_.units[gap.unit].short_lived;
}

void IntervalScheduler::keep_short_gaps(bool last) {
  std::vector<std::size_t> order(gaps_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::vector<std::pair<bool, Seconds>> key(gaps_.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    key[i] = {!inside_one_interval(gaps_[i]), duration(gaps_[i]) / saving(gaps_[i])};
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key[a] < key[b]; });
  for (const std::size_t i : order) {
    if (comes_last(gaps_[i]) != last) continue;
    if (options_.staying || needed_soon(gaps_[i]))
      keep_if_fits(gaps_[i], problem_.graph.op_count(), table_, key[i].first ? options_.headroom : 0);
  }
}

// Tails in the order the outward lanes will carry the copies, each until its copy should be done.
void IntervalScheduler::give_tails(bool last) {
  mark_writes(problem_.units, gaps_);
  std::vector<Gap*> writing;
  for (Gap& gap : gaps_) {
    if (gap.cut && gap.writes && (last || !comes_last(gap))) writing.push_back(&gap);
  }
  std::stable_sort(writing.begin(), writing.end(),
                   [](const Gap* a, const Gap* b) { return a->previous_use < b->previous_use; });
  std::map<memory::LinkId, Seconds> free_at;
  for (Gap* gap : writing) {
    const graph::OpIndex begin = gap->previous_use + 1;
    const memory::LinkId link = slow_of(*gap).outward;
    Seconds& lane_free = free_at[link];
    lane_free = std::max(lane_free, start_of(begin)) + copy_seconds(link, *gap);
    if (comes_last(*gap) != last) continue;
    const graph::OpIndex op_count = problem_.graph.op_count();
    const graph::OpIndex done =
        as_id<graph::OpIndex>(std::lower_bound(forecast_.start.begin() + begin, forecast_.start.end() - 1, lane_free) -
                              forecast_.start.begin());
    const graph::OpIndex limit = gap->wraps() ? op_count : gap->next_use;
    gap->tail_end = table_.fits_forward(begin, std::min(done, limit), gap->bytes);
    table_.reserve({begin, gap->tail_end}, gap->bytes);
  }
}

// The start of the interval before the one that needs the tensor, but not before the tensor has left.
graph::OpIndex IntervalScheduler::earliest_window(const Gap& gap) const {
  const int needing = interval_of(gap.next_use);
  const graph::OpIndex previous = needing == 0 ? 0 : cut_.intervals[needing - 1].begin;
  return gap.wraps() ? previous : std::max(previous, gap.tail_end);
}

std::vector<std::size_t> IntervalScheduler::windows_in_order() const {
  std::vector<std::size_t> order;
  std::vector<std::tuple<int, double, graph::OpIndex>> key(gaps_.size());
  for (std::size_t i = 0; i < gaps_.size(); ++i) {
    if (!gaps_[i].cut || gaps_[i].left_slow()) continue;
    order.push_back(i);
    const int interval = interval_of(gaps_[i].next_use);
    const bool by_heat = options_.order == PrefetchOrder::kHottestFirst;
    const double heat = by_heat ? accesses_within(problem_, gaps_[i].unit, cut_.intervals[interval]) : 0;
    key[i] = {interval, -heat, gaps_[i].next_use};
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key[a] < key[b]; });
  return order;
}

void IntervalScheduler::give_windows(bool last) {
  for (const std::size_t i : windows_in_order()) {
    Gap& gap = gaps_[i];
    if (comes_last(gap) != last) continue;
    gap.window_begin = table_.fits_backward(gap.next_use, earliest_window(gap), gap.bytes);
    table_.reserve({gap.window_begin, gap.next_use}, gap.bytes);
  }
}

void IntervalScheduler::hand_out_room(bool to_short_lived) {
  keep_short_gaps(to_short_lived);
  give_tails(to_short_lived);
  give_windows(to_short_lived);
}

// A gap whose tail and window leave only a middle that fits, or no middle at all, is not worth two copies.
void IntervalScheduler::keep_what_still_fits() {
  for (Gap& gap : gaps_) {
    if (!gap.cut || gap.must_cut) continue;
    const graph::OpIndex op_count = problem_.graph.op_count();
    std::vector<Interval<graph::OpIndex>> middle{{gap.tail_end, gap.wraps() ? op_count : gap.window_begin}};
    if (gap.wraps()) middle.push_back({0, gap.window_begin});
    const bool fits =
        std::all_of(middle.begin(), middle.end(), [&](const auto& range) { return table_.fits(range, gap.bytes); });
    if (!fits) continue;
    for (const auto& range : middle) table_.reserve(range, gap.bytes);
    gap.cut = false;
  }
}

// When each copy has to begin for all to be done in time, one after the other on each lane: latest first, from the end
// backwards.
std::vector<graph::OpIndex> IntervalScheduler::begins_by_the_clock(const std::vector<Gap*>& prefetches) const {
  std::vector<graph::OpIndex> begins(prefetches.size());
  std::map<memory::LinkId, Seconds> taken_from;
  for (std::size_t i = prefetches.size(); i-- > 0;) {
    const Gap& gap = *prefetches[i];
    const memory::LinkId link = slow_of(gap).inward;
    Seconds& lane_taken = taken_from.try_emplace(link, forecast_.start.back()).first->second;
    lane_taken = std::min(lane_taken, start_of(gap.next_use)) - copy_seconds(link, gap);
    const auto after = std::upper_bound(forecast_.start.begin(), forecast_.start.end(), lane_taken);
    begins[i] = std::max<graph::OpIndex>(0, as_id<graph::OpIndex>(after - forecast_.start.begin()) - 1);
  }
  return begins;
}

// What is needed first takes the free room first: it is gone first, too.
void IntervalScheduler::start_earlier() {
  std::vector<Gap*> prefetches;
  for (Gap& gap : gaps_) {
    if (gap.cut && !gap.left_slow()) prefetches.push_back(&gap);
  }
  std::stable_sort(prefetches.begin(), prefetches.end(),
                   [](const Gap* a, const Gap* b) { return a->next_use < b->next_use; });
  const std::vector<graph::OpIndex> begins = begins_by_the_clock(prefetches);
  for (std::size_t i = 0; i < prefetches.size(); ++i) {
    Gap& gap = *prefetches[i];
    const graph::OpIndex begin =
        table_.fits_backward(gap.window_begin, std::max(begins[i], gap.wraps() ? 0 : gap.tail_end), gap.bytes);
    table_.reserve({begin, gap.window_begin}, gap.bytes);
    gap.window_begin = begin;
    if (!gap.wraps() && begin == gap.tail_end && !gap.must_cut) gap.cut = false;  // it has room all the time
  }
}

IntervalSchedule IntervalScheduler::schedules() const {
  IntervalSchedule result;
  const GapCauses causes{cause_of_leaving(), [this](const Gap& each) { return cause_of_coming(each); }};
  auto gap = gaps_.begin();
  for (std::size_t i = 0; i < problem_.units.size(); ++i) {
    const auto begin = gap;
    gap = std::find_if(begin, gaps_.end(), [&](const Gap& other) { return other.unit != i; });
    result.units.push_back(schedule_of(problem_.units[i], {begin, gap}, causes));
  }
  for (const Gap& each : gaps_) {
    if (each.cut && each.prefetch == Prefetch::kMade) result.prefetches.push_back(key_of(each));
  }
  std::sort(result.prefetches.begin(), result.prefetches.end());
  return result;
}

plan::Cause IntervalScheduler::cause_of_leaving() const {
  return options_.staying ? plan::Cause::kRoomForOthers : plan::Cause::kNotNeededSoon;
}

plan::Cause IntervalScheduler::cause_of_coming(const Gap& gap) const {
  const graph::OpIndex ahead = earliest_window(gap);
  if (gap.window_begin == ahead) return plan::Cause::kAhead;
  return gap.window_begin < ahead ? plan::Cause::kLinkWouldBeLate : plan::Cause::kNoRoomBefore;
}

}  // namespace

std::optional<IntervalSchedule> schedule_intervals(const ScheduleProblem& problem, const ScheduleOptions& options,
                                                   Bytes capacity, const Forecast& forecast) {
  IntervalScheduler scheduler(problem, options, capacity, forecast);
  if (scheduler.everything_fits()) return scheduler.schedules();
  if (!scheduler.reserve_operands()) return std::nullopt;
  scheduler.hand_out_room(false);
  if (options.migration != SentinelMigration::kAll) scheduler.hand_out_room(true);
  if (options.staying) scheduler.keep_what_still_fits();
  if (options.ahead) scheduler.start_earlier();
  return scheduler.schedules();
}

}  // namespace sluice::planners
