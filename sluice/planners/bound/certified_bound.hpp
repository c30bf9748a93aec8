// The certified bound of a step: no plan that runs these ops in this order on this machine takes less, whatever it
// moves.
#pragma once

#include <optional>
#include <span>

#include "sluice/plan/plan.hpp"
#include "sluice/plan/prices.hpp"
#include "sluice/planners/bound/two_tiers.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::planners {

struct CertifiedBound {
  Seconds seconds = 0;
  plan::StepPrices prices;
  plan::TwoWayLink link;  // that the prices are of
};

// `costs` are those of `graph` on `machine`; budgets by TierId. `may_shrink`: tensors may move in fewer
// bytes (CostModel::moved_bytes). The prices are
// sought for `time_limit` at most; what they prove holds in any case. Nothing where ops run on several processors, and
// where a slow tier has no link to or from the fast one: such steps are not reckoned with yet.
std::optional<CertifiedBound> certified_bound(const graph::Graph& graph, const profile::CostModel& costs,
                                              const memory::Machine& machine, std::span<const Bytes> budgets,
                                              bool may_shrink, Seconds time_limit);

inline constexpr Seconds kBoundSeconds = 10;  // that commands spend on a bound, at most
inline constexpr Seconds kPriceSeconds = 5;   // that planners spend on the prices of a step, at most

// Raises plan.order_bound_seconds to the certified bound of its step (its order of ops, kernels and budgets), and keeps
// the prices that prove it. `graph`: the one that the plan was made for.
void certify(const graph::Graph& graph, const profile::Profile& profile, const memory::Machine& machine,
             plan::Plan& plan, Seconds time_limit);

// What the prices of a plan say that more of something would save of its bound, at most: the bound is what is left of a
// step when everything that moves is placed as well as can be. For small changes; larger ones save less.
struct Worth {
  Seconds per_mib = 0;                  // a step, of fast memory
  Seconds per_tenth_of_speed = 0;       // a step, were the links a tenth faster
  std::vector<graph::OpIndex> dearest;  // ops of the plan's step while which fast memory is worth most: three at most
  double dearest_share = 0;             // of per_mib, theirs together
};

// Nothing where the plan has no prices that fit its step.
std::optional<Worth> worth_by_prices(const graph::Graph& graph, const profile::Profile& profile,
                                     const memory::Machine& machine, const plan::Plan& plan);

// What the plan's prices prove with the op times and links of now. kUnsupported where it has none.
Result<Seconds> bound_by_prices(const graph::Graph& graph, const profile::Profile& profile,
                                const memory::Machine& machine, const plan::Plan& plan);

}  // namespace sluice::planners
