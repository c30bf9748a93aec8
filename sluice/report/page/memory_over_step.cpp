#include "sluice/report/page/memory_over_step.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/plan_graph.hpp"
#include "sluice/report/step/held_by_role.hpp"

namespace sluice::report {
namespace {

using nlohmann::json;

// Which of the moments at which something changes began last before the slot, or with it.
std::int64_t moment_of(const std::vector<BytesByRole>& held, std::size_t slot) {
  std::int64_t moment = 0;
  for (std::size_t i = 1; i <= slot; ++i) moment += held[i] != held[i - 1] ? 1 : 0;
  return moment;
}

// Lines of the roles that are there at all, with a point wherever anything changes.
void add_lines(const std::vector<BytesByRole>& held, std::span<const double> slots, json& object) {
  std::vector<std::size_t> changes;
  for (std::size_t slot = 0; slot < held.size(); ++slot) {
    if (slot == 0 || held[slot] != held[slot - 1]) changes.push_back(slot);
  }
  object["roles"] = json::array();
  object["ms"] = json::array();
  object["bytes"] = json::array();
  for (const std::size_t slot : changes) object["ms"].push_back(slots[slot]);
  for (std::size_t role = 0; role < BytesByRole{}.size(); ++role) {
    const auto holds = [&](const BytesByRole& bytes) { return bytes[role] > 0; };
    if (std::ranges::none_of(held, holds)) continue;
    json line = json::array();
    for (const std::size_t slot : changes) line.push_back(held[slot][role]);
    object["roles"].push_back(to_string(static_cast<graph::Role>(role)));
    object["bytes"].push_back(std::move(line));
  }
}

}  // namespace

json memory_over_step_json(const plan::PlanGraph& step, const memory::Machine& machine, const plan::Plan& plan,
                           std::span<const double> slots) {
  json tiers = json::array();
  for (memory::TierId tier = 0; tier < as_id<memory::TierId>(plan.arena_bytes.size()); ++tier) {
    const std::vector<BytesByRole> held = held_by_role(tier, step.graph(), plan);
    const auto fullest = std::ranges::max_element(held, {}, sum_of_roles);
    if (fullest == held.end() || sum_of_roles(*fullest) == 0) continue;
    const auto slot = as_index(fullest - held.begin());
    json object{{"tier", machine.tier(tier).name},
                {"emulated", machine.tier(tier).emulated()},
                {"budget_bytes", plan.budgets.at(as_index(tier))},
                {"arena_bytes", plan.arena_bytes.at(as_index(tier))},
                {"peak",
                 {{"bytes", sum_of_roles(*fullest)},
                  {"moment", moment_of(held, slot)},
                  {"ms", slots[slot]},
                  {"op", step.graph().op(as_id<graph::OpIndex>(slot)).name}}}};
    add_lines(held, slots, object);
    tiers.push_back(std::move(object));
  }
  return tiers;
}

}  // namespace sluice::report
