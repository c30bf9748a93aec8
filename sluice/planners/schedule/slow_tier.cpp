#include "sluice/planners/schedule/slow_tier.hpp"

#include <fmt/format.h>

namespace sluice {

Result<SlowTier> find_slow_tier(std::string_view planner, const Machine& machine) {
  if (machine.tiers.size() < 2) {
    return Error{ErrorCode::kBadInput, fmt::format("planner {} needs a slow tier and this machine has none; name one "
                                                   "with --slow",
                                                   planner)};
  }
  const auto outward = machine.link_between(kFastTier, 1);
  const auto inward = machine.link_between(1, kFastTier);
  if (!outward || !inward) {
    return Error{ErrorCode::kBadInput, fmt::format("planner {} needs links both ways between tiers '{}' and '{}'",
                                                   planner, machine.tier(0).name, machine.tier(1).name)};
  }
  return SlowTier{.id = 1, .outward = *outward, .inward = *inward};
}

Result<SlowTier> find_addressable_slow_tier(std::string_view planner, const Machine& machine) {
  SLUICE_ASSIGN(const SlowTier slow, find_slow_tier(planner, machine));
  if (!machine.tier(slow.id).addressable) {
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("planner {} leaves operands in the slow tier, and ops cannot address tier '{}'; use a "
                    "tier they can (--slow numa:N, optane or pmbd), or a planner that moves tensors (sentinel, "
                    "on-demand)",
                    planner, machine.tier(slow.id).name)};
  }
  return slow;
}

}  // namespace sluice
