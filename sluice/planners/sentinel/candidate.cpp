#include "sluice/planners/sentinel/candidate.hpp"

#include <algorithm>
#include <map>

#include "sluice/planners/schedule/pack.hpp"
#include "sluice/sim/simulator.hpp"

namespace sluice::planners {

CandidateBuilder::CandidateBuilder(const PlanRequest& request, const std::vector<SlowTier>& slow, bool encode)
    : request_(request),
      slow_(slow),
      liveness_(graph::analyze_liveness(request.graph)),
      units_(find_moving_units(request.graph, liveness_)),
      costs_(request.graph, request.profile, request.machine),
      encode_(encode),
      problem_{request.graph, liveness_, units_, costs_, request.accesses},
      no_schedule_(request.graph, request.machine),
      capacities_(request.budgets) {}

bool CandidateBuilder::any_addressable() const {
  return std::ranges::any_of(slow_, [&](const SlowTier& each) { return addressable(each); });
}

void CandidateBuilder::place_units(const ScheduleOptions& options, const std::vector<Bytes>& capacities,
                                   const Forecast& forecast) {
  SlowRooms rooms(slow_, request_.graph.op_count(), capacities);
  if (options.demands == nullptr) return place_first_come(units_, std::move(rooms));
  const auto price = [&](memory::LinkId link, graph::OpIndex op) {
    return forecast.price(link, op) + costs_.interference(link);
  };
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

// A builder of the units' schedules; the rest of what they are goes to `candidate`.
std::optional<plan::PlanBuilder> CandidateBuilder::lay_out(const ScheduleOptions& options, const Forecast& forecast,
                                                           const std::vector<Bytes>& capacities, Candidate& candidate) {
  place_units(options, capacities, forecast);
  candidate.options = without_unreadable(options);
  if (encode_) candidate.encoded_units = encode_where_worth(request_.machine, costs_, units_);
  auto schedule = schedule_intervals(problem_, candidate.options, capacities[memory::kFastTier], forecast);
  if (!schedule) return std::nullopt;
  plan::PlanBuilder builder = no_schedule_;
  candidate.slow.clear();
  for (std::size_t i = 0; i < units_.size(); ++i) {
    add_unit_schedule(builder, request_.graph, liveness_, units_[i], schedule->units[i]);
    candidate.slow.push_back(units_[i].slow);
  }
  candidate.demands = demands_of(*schedule);
  candidate.prefetches = std::move(schedule->prefetches);
  return builder;
}

Candidate CandidateBuilder::simulated(Candidate candidate, plan::Plan plan) const {
  candidate.plan = std::move(plan);
  candidate.program = program::lower_plan(request_.graph, request_.machine, candidate.plan).value();
  candidate.timeline = sim::simulate(candidate.program, costs_);
  return candidate;
}

Result<Candidate> CandidateBuilder::build(const ScheduleOptions& options, const Forecast& forecast) {
  ++built_;
  Candidate candidate;
  const auto build_at = [&](const std::vector<Bytes>& capacities) {
    return lay_out(options, forecast, capacities, candidate);
  };
  if (tight_capacity_) {
    std::vector<Bytes> capacities = capacities_;
    capacities[memory::kFastTier] = *tight_capacity_;
    std::optional<PackedPlan> tight = pack_by_search(request_, std::move(capacities), build_at);
    if (tight) return simulated(std::move(candidate), std::move(tight->plan));
  }
  SLUICE_ASSIGN(PackedPlan packed, pack_with_less_capacity(request_, capacities_, build_at));
  // The next candidate will lose about as much to fragmentation: it need not find that out from the top.
  capacities_[memory::kFastTier] = std::min(budget(), packed.fast_capacity() + packed.fast_capacity() / 32);
  return simulated(std::move(candidate), std::move(packed.plan));
}

std::optional<Candidate> CandidateBuilder::build_tightly(const ScheduleOptions& options, const Forecast& forecast) {
  ++built_;
  std::map<Bytes, Candidate> made;  // by fast capacity
  const auto build_at = [&](const std::vector<Bytes>& capacities) {
    return lay_out(options, forecast, capacities, made[capacities[memory::kFastTier]]);
  };
  Result<PackedPlan> packed = pack_with_less_capacity(request_, capacities_, build_at);
  if (!packed.ok()) return std::nullopt;
  const Bytes by_portfolio = packed->fast_capacity();
  PackedPlan tight = pack_with_more_capacity(request_, std::move(packed).value(), build_at);
  if (tight.fast_capacity() == by_portfolio) return std::nullopt;
  tight_capacity_ = tight.fast_capacity();
  return simulated(std::move(made[tight.fast_capacity()]), std::move(tight.plan));
}

}  // namespace sluice::planners
