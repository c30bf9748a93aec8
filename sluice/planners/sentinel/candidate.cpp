#include "sluice/planners/sentinel/candidate.hpp"

#include <algorithm>

#include "sluice/planners/schedule/pack.hpp"
#include "sluice/planners/schedule/unit_encodings.hpp"

namespace sluice {

CandidateBuilder::CandidateBuilder(const PlanRequest& request, const SlowTier& slow, bool encode)
    : request_(request),
      slow_(slow),
      liveness_(analyze_liveness(request.graph)),
      units_(find_moving_units(request.graph, liveness_)),
      costs_(request.graph, request.profile, request.machine),
      encoded_units_(encode ? encode_where_worth(request_, costs_, slow_, units_) : 0),
      problem_{request.graph, liveness_, units_, costs_, slow.outward, slow.inward, request.accesses},
      capacity_(request.budgets[kFastTier]) {}

Result<Candidate> CandidateBuilder::build(const ScheduleOptions& options, const Forecast& forecast) {
  ++built_;
  std::vector<PrefetchKey> prefetches;
  const auto build_at = [&](Bytes capacity) -> std::optional<PlanBuilder> {
    auto schedule = schedule_intervals(problem_, options, capacity, forecast);
    if (!schedule) return std::nullopt;
    PlanBuilder builder(request_.graph, request_.machine);
    for (std::size_t i = 0; i < units_.size(); ++i) {
      add_unit_schedule(builder, request_.graph, liveness_, units_[i], slow_.id, schedule->units[i]);
    }
    prefetches = std::move(schedule->prefetches);
    return builder;
  };
  SLUICE_ASSIGN(PackedPlan packed, pack_with_less_capacity(request_, capacity_, build_at));
  // The next candidate will lose about as much to fragmentation: it need not find that out from the top.
  capacity_ = std::min(budget(), packed.capacity + packed.capacity / 32);
  Program program = lower_plan(request_.graph, request_.machine, packed.plan).value();
  StepTimes timeline = simulate(program, costs_);
  return Candidate{options, std::move(packed.plan), std::move(program), std::move(timeline), std::move(prefetches)};
}

}  // namespace sluice
