#include "sluice/planners/schedule/slow_tier.hpp"

#include <fmt/format.h>

#include "sluice/base/as_index.hpp"

namespace sluice::planners {

Result<std::vector<SlowTier>> find_slow_tiers(std::string_view planner, const memory::Machine& machine) {
  if (machine.tiers.size() < 2) {
    return Error{ErrorCode::kBadInput, fmt::format("planner {} needs a slow tier and this machine has none; name one "
                                                   "with --slow",
                                                   planner)};
  }
  std::vector<SlowTier> slow;
  for (memory::TierId id = memory::kFastTier + 1; id < as_id<memory::TierId>(machine.tiers.size()); ++id) {
    const auto outward = machine.link_between(memory::kFastTier, id);
    const auto inward = machine.link_between(id, memory::kFastTier);
    if (!outward || !inward) {
      return Error{ErrorCode::kBadInput,
                   fmt::format("planner {} needs links both ways between tiers '{}' and '{}'", planner,
                               machine.tier(memory::kFastTier).name, machine.tier(id).name)};
    }
    slow.push_back({.id = id, .outward = *outward, .inward = *inward});
  }
  return slow;
}

Result<std::vector<SlowTier>> find_addressable_slow_tiers(std::string_view planner, const memory::Machine& machine) {
  SLUICE_ASSIGN(std::vector<SlowTier> slow, find_slow_tiers(planner, machine));
  std::erase_if(slow, [&](const SlowTier& each) { return !machine.tier(each.id).addressable; });
  if (slow.empty()) {
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("planner {} leaves operands in the slow tier, and ops cannot address tier '{}'; use a "
                    "tier they can (--slow numa:N, optane or pmbd), or a planner that moves tensors (sentinel, "
                    "on-demand)",
                    planner, machine.tier(1).name)};
  }
  return slow;
}

}  // namespace sluice::planners
