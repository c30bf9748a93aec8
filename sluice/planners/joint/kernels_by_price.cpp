#include "sluice/planners/joint/kernels_by_price.hpp"

#include <optional>

#include "sluice/plan/rooms.hpp"
#include "sluice/planners/bound/certified_bound.hpp"
#include "sluice/planners/implementations.hpp"
#include "sluice/planners/rescheduled_request.hpp"

namespace sluice::planners {
namespace {

constexpr int kKernelRounds = 4;
constexpr double kWorthARound = 0.9995;  // of a bound, to be worth another round

std::optional<CertifiedBound> bound_with(PlanRequest request, const std::vector<graph::OpChoice>& choices) {
  request.choices = choices;
  const RescheduledRequest step(request);
  const PlanRequest& chosen = step.request();
  const profile::CostModel costs(chosen.graph, chosen.profile, chosen.machine);
  return certified_bound(chosen.graph, costs, chosen.machine, chosen.budgets, false, kPriceSeconds);
}

}  // namespace

std::vector<graph::OpChoice> kernels_by_price(const PlanRequest& request) {
  if (!profile::has_implementation_times(request.profile)) return {};
  const Implementations implementations(request);
  const Bytes budget = request.budgets[memory::kFastTier];
  const bool first_ones_fit = plan::largest_working_set(request.graph) <= budget;  // or no prices hold
  std::vector<graph::OpChoice> choices =
      first_ones_fit ? Implementations::first_ones(request.graph) : implementations.fastest_within(budget);
  std::optional<CertifiedBound> bound = bound_with(request, choices);
  for (int round = 0; bound && round < kKernelRounds && !request.stopped(); ++round) {
    std::vector<graph::OpChoice> next = implementations.cheapest_at(bound->prices.room);
    if (next == choices) break;
    std::optional<CertifiedBound> next_bound = bound_with(request, next);
    if (!next_bound || next_bound->seconds >= kWorthARound * bound->seconds) break;
    choices = std::move(next);
    bound = std::move(next_bound);
  }
  return bound && !graph::is_own_choice(request.graph, choices) ? choices : std::vector<graph::OpChoice>();
}

}  // namespace sluice::planners
