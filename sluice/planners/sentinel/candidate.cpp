#include "sluice/planners/sentinel/candidate.hpp"

#include <algorithm>

#include "sluice/planners/schedule/pack.hpp"
#include "sluice/planners/schedule/unit_encodings.hpp"

namespace sluice {

CandidateBuilder::CandidateBuilder(const PlanRequest& request, const std::vector<SlowTier>& slow, bool encode)
    : request_(request),
      slow_(slow),
      liveness_(analyze_liveness(request.graph)),
      units_(find_moving_units(request.graph, liveness_)),
      costs_(request.graph, request.profile, request.machine),
      encode_(encode),
      problem_{request.graph, liveness_, units_, costs_, request.accesses},
      capacities_(request.budgets) {}

bool CandidateBuilder::any_addressable() const {
  return std::ranges::any_of(slow_, [&](const SlowTier& each) { return addressable(each); });
}

void CandidateBuilder::place_units(const ScheduleOptions& options, const std::vector<Bytes>& capacities,
                                   const Forecast& forecast) {
  SlowRooms rooms(slow_, request_.graph.op_count(), capacities);
  if (options.demands == nullptr) return place_first_come(units_, std::move(rooms));
  const auto price = [&](LinkId link, OpIndex op) { return forecast.price(link, op) + costs_.interference(link); };
  place_by_price(units_, *options.demands, costs_, price, std::move(rooms));
}

// A unit that is now in a tier that ops cannot address must be brought, whatever was decided where it was before.
ScheduleOptions CandidateBuilder::without_unreadable(ScheduleOptions options) const {
  std::erase_if(options.left_out, [&](const PrefetchKey& key) { return !addressable(units_[key.unit].slow); });
  return options;
}

std::vector<SlowDemand> CandidateBuilder::demands_of(const IntervalSchedule& schedule) const {
  std::vector<SlowDemand> demands;
  if (slow_.size() == 1) return demands;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    demands.push_back(slow_demand(units_[i].uses, schedule.units[i], units_[i].persistent, request_.graph.op_count()));
  }
  return demands;
}

Result<Candidate> CandidateBuilder::build(const ScheduleOptions& options, const Forecast& forecast) {
  ++built_;
  Candidate candidate;
  const auto build_at = [&](const std::vector<Bytes>& capacities) -> std::optional<PlanBuilder> {
    place_units(options, capacities, forecast);
    candidate.options = without_unreadable(options);
    if (encode_) candidate.encoded_units = encode_where_worth(request_, costs_, units_);
    auto schedule = schedule_intervals(problem_, candidate.options, capacities[kFastTier], forecast);
    if (!schedule) return std::nullopt;
    PlanBuilder builder(request_.graph, request_.machine);
    for (std::size_t i = 0; i < units_.size(); ++i) {
      add_unit_schedule(builder, request_.graph, liveness_, units_[i], schedule->units[i]);
    }
    candidate.demands = demands_of(*schedule);
    candidate.prefetches = std::move(schedule->prefetches);
    return builder;
  };
  SLUICE_ASSIGN(PackedPlan packed, pack_with_less_capacity(request_, capacities_, build_at));
  // The next candidate will lose about as much to fragmentation: it need not find that out from the top.
  capacities_[kFastTier] = std::min(budget(), packed.fast_capacity() + packed.fast_capacity() / 32);
  candidate.plan = std::move(packed.plan);
  candidate.program = lower_plan(request_.graph, request_.machine, candidate.plan).value();
  candidate.timeline = simulate(candidate.program, costs_);
  for (const MovingUnit& unit : units_) candidate.slow.push_back(unit.slow);
  return candidate;
}

}  // namespace sluice
