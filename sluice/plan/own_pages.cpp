#include "sluice/plan/own_pages.hpp"

#include <algorithm>
#include <limits>

#include "sluice/plan/plan_builder.hpp"

namespace sluice::plan {

Plan on_own_pages(const graph::Graph& graph, const memory::Machine& machine, const Plan& plan) {
  PlanBuilder builder(graph, machine, plan);
  builder.keep_pages_apart();
  const std::vector<Bytes> plenty(plan.budgets.size(), std::numeric_limits<Bytes>::max());
  Plan packed = builder.finish(plenty).value();
  Plan result = plan;
  result.residencies = std::move(packed.residencies);
  result.blocks.clear();
  result.stitches.clear();
  result.migrations = std::move(packed.migrations);
  result.arena_bytes = std::move(packed.arena_bytes);
  for (std::size_t tier = 0; tier < result.budgets.size(); ++tier) {
    result.budgets[tier] = std::max(result.budgets[tier], result.arena_bytes[tier]);
  }
  return result;
}

}  // namespace sluice::plan
