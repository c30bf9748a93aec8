#include "sluice/planners/sentinel/candidate.hpp"

#include <algorithm>
#include <map>

#include "sluice/planners/schedule/pack.hpp"

namespace sluice {

CandidateBuilder::CandidateBuilder(const PlanRequest& request, const SlowTier& slow)
    : request_(request),
      slow_(slow),
      liveness_(analyze_liveness(request.graph)),
      units_(find_moving_units(request.graph, liveness_)),
      costs_(request.graph, request.profile, request.machine),
      problem_{request.graph, liveness_, units_, costs_, slow.outward, slow.inward, request.accesses},
      capacity_(request.budgets[kFastTier]) {}

PlanBuilder CandidateBuilder::builder_of(const IntervalSchedule& schedule) const {
  PlanBuilder builder(request_.graph, request_.machine);
  for (std::size_t i = 0; i < units_.size(); ++i) {
    add_unit_schedule(builder, request_.graph, liveness_, units_[i], slow_.id, schedule.units[i]);
  }
  return builder;
}

Candidate CandidateBuilder::simulated(const ScheduleOptions& options, PackedPlan packed,
                                      std::vector<PrefetchKey> prefetches) const {
  Program program = lower_plan(request_.graph, request_.machine, packed.plan).value();
  StepTimes timeline = simulate(program, costs_);
  return {options, std::move(packed.plan), std::move(program), std::move(timeline), std::move(prefetches)};
}

Result<Candidate> CandidateBuilder::build(const ScheduleOptions& options, const Forecast& forecast) {
  ++built_;
  std::vector<PrefetchKey> prefetches;  // of the schedule made last
  const auto build_at = [&](Bytes capacity) -> std::optional<PlanBuilder> {
    auto schedule = schedule_intervals(problem_, options, capacity, forecast);
    if (!schedule) return std::nullopt;
    prefetches = std::move(schedule->prefetches);
    return builder_of(*schedule);
  };
  if (tight_capacity_) {
    std::optional<PackedPlan> tight = pack_by_search(request_, *tight_capacity_, build_at);
    if (tight) return simulated(options, std::move(*tight), std::move(prefetches));
  }
  SLUICE_ASSIGN(PackedPlan packed, pack_with_less_capacity(request_, capacity_, build_at));
  // The next candidate will lose about as much to fragmentation: it need not find that out from the top.
  capacity_ = std::min(budget(), packed.capacity + packed.capacity / 32);
  return simulated(options, std::move(packed), std::move(prefetches));
}

std::optional<Candidate> CandidateBuilder::build_tightly(const ScheduleOptions& options, const Forecast& forecast) {
  ++built_;
  std::map<Bytes, std::vector<PrefetchKey>> prefetches;  // by capacity
  const auto build_at = [&](Bytes capacity) -> std::optional<PlanBuilder> {
    auto schedule = schedule_intervals(problem_, options, capacity, forecast);
    if (!schedule) return std::nullopt;
    prefetches[capacity] = std::move(schedule->prefetches);
    return builder_of(*schedule);
  };
  Result<PackedPlan> packed = pack_with_less_capacity(request_, capacity_, build_at);
  if (!packed.ok()) return std::nullopt;
  const Bytes by_portfolio = packed->capacity;
  PackedPlan tight = pack_with_more_capacity(request_, std::move(packed).value(), build_at);
  if (tight.capacity == by_portfolio) return std::nullopt;
  tight_capacity_ = tight.capacity;
  return simulated(options, std::move(tight), std::move(prefetches[tight.capacity]));
}

}  // namespace sluice
