#include "sluice/planners/sentinel/left_in_slow.hpp"

#include <algorithm>
#include <map>

#include "sluice/base/as_index.hpp"

namespace sluice::planners {
namespace {

// Where `op` finds its operands when those of `unit` are in the slow tier and the others are not.
std::vector<memory::TierId> tiers_with_unit_in(memory::TierId slow, const graph::Op& op, const MovingUnit& unit) {
  std::vector<memory::TierId> tiers;
  for (const auto* operands : {&op.inputs, &op.outputs}) {
    for (const graph::TensorId id : *operands) {
      tiers.push_back(std::ranges::find(unit.tensors, id) != unit.tensors.end() ? slow : memory::kFastTier);
    }
  }
  return tiers;
}

// What one second of a lane's time costs at op `op`: compute time lost beside it, and stalls.
double lane_price(const profile::CostModel& costs, const Forecast& forecast, memory::LinkId link, graph::OpIndex op) {
  return costs.interference(link) + forecast.price(link, op);
}

// All gaps, `cut` where the candidate's plan has its units leave.
std::vector<Gap> gaps_of(const CandidateBuilder& builder, const Candidate& candidate) {
  const ScheduleProblem& problem = builder.problem();
  std::vector<Gap> gaps = find_gaps(problem.units, problem.graph.op_count(), candidate.options.small_bytes,
                                    short_lived_move(candidate.options));
  for (Gap& gap : gaps) {
    gap.cut = gap.prefetch == Prefetch::kNeeded || candidate.options.left_out.contains(key_of(gap)) ||
              std::ranges::binary_search(candidate.prefetches, key_of(gap));
  }
  return gaps;
}

// What the unit's uses take longer when each finds it in the slow tier.
Seconds seconds_in_place(const CandidateBuilder& builder, memory::TierId slow, const MovingUnit& unit,
                         const std::vector<graph::Use>& uses) {
  Seconds seconds = 0;
  for (const graph::Use& use : uses) {
    const auto tiers = tiers_with_unit_in(slow, builder.problem().graph.op(use.op), unit);
    seconds += builder.costs().op_seconds(use.op, tiers) - builder.costs().op_seconds(use.op);
  }
  return seconds;
}

// What the copy in costs, and the copy out that it causes when the unit is written: in place it need not be written
// back.
Seconds seconds_copied(const profile::CostModel& costs, const SlowTier& slow, const Forecast& forecast, const Gap& gap,
                       bool written) {
  const auto cost = [&](memory::LinkId link) {
    return costs.transfer_seconds(link, gap.bytes) * lane_price(costs, forecast, link, gap.next_use);
  };
  return cost(slow.inward) + (written ? cost(slow.outward) : 0);
}

}  // namespace

std::vector<DearPrefetch> prefetches_dearer_than_use(const CandidateBuilder& builder, const Candidate& candidate) {
  const ScheduleProblem& problem = builder.problem();
  Forecast forecast = forecast_compute(problem.graph, builder.costs());
  constexpr int kForgetFirstPrices = 5;  // each time moves prices half-way to what the timeline shows
  for (int i = 0; i < kForgetFirstPrices; ++i) {
    learn_forecast(forecast, candidate.program, candidate.timeline);
  }
  const std::vector<Gap> gaps = gaps_of(builder, candidate);
  std::vector<DearPrefetch> dear;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    if (!std::ranges::binary_search(candidate.prefetches, key_of(gaps[i]))) continue;
    const MovingUnit& unit = problem.units[gaps[i].unit];
    const SlowTier& slow = candidate.slow[gaps[i].unit];
    if (!builder.addressable(slow)) continue;
    const Stay stay = stay_behind(gaps, i, unit.uses);
    const bool written = std::ranges::any_of(stay.uses, &graph::Use::writes);
    const Seconds gain = seconds_copied(builder.costs(), slow, forecast, gaps[i], written) -
                         seconds_in_place(builder, slow.id, unit, stay.uses);
    if (gain <= 0) continue;
    dear.push_back({.keys = {}, .gain = gain});
    for (const std::size_t gap : stay.gaps) dear.back().keys.push_back(key_of(gaps[gap]));
  }
  std::ranges::stable_sort(dear, std::ranges::greater{}, &DearPrefetch::gain);
  return dear;
}

std::vector<LateInterval> late_intervals(const CandidateBuilder& builder, const Candidate& candidate,
                                         const std::vector<Seconds>& stalls, Seconds step) {
  const IntervalCut cut = cut_into_intervals(builder.liveness(), candidate.options.interval_length);
  std::map<int, LateInterval> late;
  for (const PrefetchKey& key : candidate.prefetches) {
    if (!builder.addressable(candidate.slow[key.unit])) continue;
    const Seconds stall = stalls.empty() ? 0 : stalls[as_index(key.next_use)];
    if (stall < step / 1000) continue;
    const int interval = cut.interval_of_op[key.next_use];
    late[interval].interval = interval;
    late[interval].late.push_back(key);
  }
  std::vector<LateInterval> result;
  for (auto& [interval, each] : late) {
    const Interval<graph::OpIndex> ops = cut.intervals[as_index(interval)];
    for (graph::OpIndex op = ops.begin; op < ops.end; ++op) each.waited += stalls[as_index(op)];
    result.push_back(std::move(each));
  }
  std::ranges::stable_sort(result, std::ranges::greater{}, &LateInterval::waited);
  return result;
}

}  // namespace sluice::planners
