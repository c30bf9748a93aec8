#include "sluice/planners/sentinel/left_in_slow.hpp"

#include <algorithm>
#include <map>

namespace sluice {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

// Where `op` finds its operands when those of `unit` are in the slow tier and the others are not.
std::vector<TierId> tiers_with_unit_in(TierId slow, const Op& op, const MovingUnit& unit) {
  std::vector<TierId> tiers;
  for (const auto* operands : {&op.inputs, &op.outputs}) {
    for (const TensorId id : *operands) {
      tiers.push_back(std::ranges::find(unit.tensors, id) != unit.tensors.end() ? slow : kFastTier);
    }
  }
  return tiers;
}

// What one second of a lane's time costs at op `op`: compute time lost beside it, and stalls.
double lane_price(const CostModel& costs, LinkId link, const std::vector<double>& prices, OpIndex op) {
  return costs.interference(link) + prices[at(op)];
}

}  // namespace

std::vector<PrefetchKey> prefetches_dearer_than_use(const CandidateBuilder& builder, const Candidate& candidate) {
  const ScheduleProblem& problem = builder.problem();
  const CostModel& costs = builder.costs();
  Forecast forecast = forecast_compute(problem.graph, costs);
  constexpr int kForgetFirstPrices = 5;  // each time moves prices half-way to what the timeline shows
  for (int i = 0; i < kForgetFirstPrices; ++i) {
    learn_forecast(forecast, candidate.program, candidate.timeline, problem.outward, problem.inward);
  }
  const std::vector<Gap> gaps = find_gaps(problem.units, problem.graph.op_count(), candidate.options.small_bytes,
                                          candidate.options.move_short_lived);
  std::vector<PrefetchKey> dearer;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    if (!std::ranges::binary_search(candidate.prefetches, key_of(gaps[i]))) continue;
    const MovingUnit& unit = problem.units[gaps[i].unit];
    Seconds in_place = 0;
    bool writes = false;
    for (const Use& use : uses_behind(gaps, i, unit.uses)) {
      const auto tiers = tiers_with_unit_in(builder.slow().id, problem.graph.op(use.op), unit);
      in_place += costs.op_seconds(use.op, tiers) - costs.op_seconds(use.op);
      writes = writes || use.writes;
    }
    Seconds copied = costs.transfer_seconds(problem.inward, gaps[i].bytes) *
                     lane_price(costs, problem.inward, forecast.inward_price, gaps[i].next_use);
    if (writes) {  // written in place, it need not be written back
      copied += costs.transfer_seconds(problem.outward, gaps[i].bytes) *
                lane_price(costs, problem.outward, forecast.outward_price, gaps[i].next_use);
    }
    if (in_place < copied) dearer.push_back(key_of(gaps[i]));
  }
  return dearer;
}

std::vector<LateInterval> late_intervals(const CandidateBuilder& builder, const Candidate& candidate,
                                         const std::vector<Seconds>& stalls, Seconds step) {
  const IntervalCut cut = cut_into_intervals(builder.liveness(), candidate.options.interval_length);
  std::map<int, LateInterval> late;
  for (const PrefetchKey& key : candidate.prefetches) {
    const Seconds stall = stalls.empty() ? 0 : stalls[at(key.next_use)];
    if (stall < step / 1000) continue;
    const int interval = cut.interval_of_op[key.next_use];
    late[interval].interval = interval;
    late[interval].late.push_back(key);
  }
  std::vector<LateInterval> result;
  for (auto& [interval, each] : late) {
    const Interval<OpIndex> ops = cut.intervals[at(interval)];
    for (OpIndex op = ops.begin; op < ops.end; ++op) each.waited += stalls[at(op)];
    result.push_back(std::move(each));
  }
  std::ranges::stable_sort(result, std::ranges::greater{}, &LateInterval::waited);
  return result;
}

}  // namespace sluice
