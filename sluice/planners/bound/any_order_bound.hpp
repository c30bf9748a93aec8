// The certified bound of a step in any order: no plan of these ops takes less on this machine in these budgets, whatever
// their order, whatever it moves, runs again, or leaves out because it only makes again. Kernels are as given.
#pragma once

#include <optional>
#include <span>

#include "sluice/planners/bound/certified_bound.hpp"

namespace sluice::planners {

// `costs` are those of `graph` on `machine`; budgets by TierId. `may_shrink`: tensors may move in fewer
// bytes (CostModel::moved_bytes). Where prices are of
// no use (certified_bound.hpp says where), and where they prove less, it is the time of what must be computed, by the
// processor that has most of it, and there are no prices.
struct AnyOrderBound {
  Seconds seconds = 0;
  std::optional<plan::StepPrices> prices;  // by epoch
};
AnyOrderBound any_order_bound(const graph::Graph& graph, const profile::CostModel& costs,
                              const memory::Machine& machine, std::span<const Bytes> budgets, bool may_shrink,
                              Seconds time_limit);

// Sets plan.lower_bound_seconds, and the prices that prove it; nothing for a plan that runs an op by two kernels.
// `graph`: the one that the plan was made for.
void certify_any_order(const graph::Graph& graph, const profile::Profile& profile, const memory::Machine& machine,
                       plan::Plan& plan, Seconds time_limit);

// What the plan's prices prove of any order with the op times and links of now. kUnsupported where it has none.
Result<Seconds> any_order_bound_by_prices(const graph::Graph& graph, const profile::Profile& profile,
                                          const memory::Machine& machine, const plan::Plan& plan);

}  // namespace sluice::planners
