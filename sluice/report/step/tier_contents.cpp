#include "sluice/report/step/tier_contents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/plan_graph.hpp"
#include "sluice/plan/rooms.hpp"

namespace sluice {
namespace {

constexpr std::size_t kRoles = static_cast<std::size_t>(Role::kOutput) + 1;
using ByRole = std::array<Bytes, kRoles>;

// By op: what comes before it runs, less what went behind the op before.
std::vector<ByRole> changes_in(TierId tier, const Graph& step, const Plan& plan, const std::vector<Room>& rooms) {
  std::vector<ByRole> changes(step.ops().size() + 1);
  for (std::size_t i = 0; i < plan.residencies.size(); ++i) {
    const Residency& each = plan.residencies[static_cast<ResidencyIndex>(i)];
    if (each.tier != tier) continue;
    const auto role = static_cast<std::size_t>(step.tensor(each.tensor).role);
    changes[as_index(each.ops.begin)][role] += rooms[i].bytes;
    changes[as_index(each.ops.end)][role] -= rooms[i].bytes;
  }
  return changes;
}

Bytes sum_of(const ByRole& bytes) {
  Bytes sum = 0;
  for (const Bytes each : bytes) sum += each;
  return sum;
}

TierContents fullest(TierId tier, const Graph& step, const std::vector<ByRole>& changes) {
  ByRole now{}, most{};
  TierContents contents{.tier = tier};
  for (OpIndex op = 0; op < step.op_count(); ++op) {
    for (std::size_t role = 0; role < kRoles; ++role) now[role] += changes[as_index(op)][role];
    if (sum_of(now) <= contents.bytes) continue;
    most = now;
    contents.bytes = sum_of(now);
    contents.op = step.op(op).name;
  }
  for (std::size_t role = 0; role < kRoles; ++role) {
    if (most[role] > 0) contents.by_role.emplace_back(static_cast<Role>(role), most[role]);
  }
  std::ranges::stable_sort(contents.by_role, std::ranges::greater{}, &std::pair<Role, Bytes>::second);
  return contents;
}

}  // namespace

std::vector<TierContents> tier_contents(const Graph& graph, const Plan& plan) {
  std::vector<TierContents> all;
  if (plan.policy) return all;
  const PlanGraph step(graph, plan);
  const std::vector<Room> rooms = residency_rooms(step.graph(), plan);
  for (TierId tier = 0; tier < static_cast<TierId>(plan.arena_bytes.size()); ++tier) {
    TierContents contents = fullest(tier, step.graph(), changes_in(tier, step.graph(), plan, rooms));
    if (contents.bytes > 0) all.push_back(std::move(contents));
  }
  return all;
}

std::string describe_contents(const TierContents& contents) {
  std::string text;
  for (const auto& [role, bytes] : contents.by_role) {
    std::string name(to_string(role));
    std::ranges::replace(name, '_', ' ');
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, format_bytes(bytes));
  }
  return fmt::format("{} while {} runs: {}", format_bytes(contents.bytes), contents.op, text);
}

nlohmann::json contents_json(const Machine& machine, const std::vector<TierContents>& contents) {
  nlohmann::json all = nlohmann::json::array();
  for (const TierContents& each : contents) {
    nlohmann::json by_role;
    for (const auto& [role, bytes] : each.by_role) by_role[std::string(to_string(role))] = bytes;
    all.push_back({{"tier", machine.tier(each.tier).name}, {"op", each.op}, {"bytes", each.bytes}, {"roles", by_role}});
  }
  return all;
}

}  // namespace sluice
