#include "sluice/policies/run.hpp"

#include <utility>

namespace sluice::policies {
namespace {

const plan::Plan& plan_in(const plan::Plan& plan) { return plan; }

template <typename UnderPolicy>
const plan::Plan& plan_in(const UnderPolicy& run) {
  return run.plan;
}

Bytes usable_in(const plan::Plan& plan) { return plan.budgets.at(memory::kFastTier); }

template <typename UnderPolicy>
Bytes usable_in(const UnderPolicy& run) {
  return run.policy.fast_bytes;
}

}  // namespace

Run run_under(ChosenPolicy policy, plan::Plan everything_fast) {
  if (const auto* dtr = std::get_if<ChosenDtr>(&policy)) return DtrRun{std::move(everything_fast), *dtr};
  return PagesRun{std::move(everything_fast), std::get<ChosenPages>(std::move(policy))};
}

const plan::Plan& plan_of(const Run& run) {
  return std::visit([](const auto& each) -> const plan::Plan& { return plan_in(each); }, run);
}

Bytes usable_fast_bytes(const Run& run) {
  return std::visit([](const auto& each) { return usable_in(each); }, run);
}

Bytes fast_arena_bytes(const Run& run) {
  const bool all_that_it_has = std::holds_alternative<DtrRun>(run);
  return all_that_it_has ? usable_fast_bytes(run) : plan_of(run).arena_bytes.at(memory::kFastTier);
}

}  // namespace sluice::policies
