#include "sluice/report/step/tier_contents.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/plan_graph.hpp"
#include "sluice/report/step/held_by_role.hpp"

namespace sluice::report {
namespace {

TierContents fullest(memory::TierId tier, const graph::Graph& step, const plan::Plan& plan) {
  const std::vector<BytesByRole> held = held_by_role(tier, step, plan);
  const auto most = std::ranges::max_element(held, {}, sum_of_roles);
  TierContents contents{.tier = tier};
  if (most == held.end()) return contents;
  contents.bytes = sum_of_roles(*most);
  contents.op = step.op(as_id<graph::OpIndex>(most - held.begin())).name;
  for (std::size_t role = 0; role < most->size(); ++role) {
    if ((*most)[role] > 0) contents.by_role.emplace_back(static_cast<graph::Role>(role), (*most)[role]);
  }
  std::ranges::stable_sort(contents.by_role, std::ranges::greater{}, &std::pair<graph::Role, Bytes>::second);
  return contents;
}

}  // namespace

std::vector<TierContents> tier_contents(const graph::Graph& graph, const plan::Plan& plan) {
  std::vector<TierContents> all;
  const plan::PlanGraph step(graph, plan);
  for (memory::TierId tier = 0; tier < as_id<memory::TierId>(plan.arena_bytes.size()); ++tier) {
    TierContents contents = fullest(tier, step.graph(), plan);
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

nlohmann::json contents_json(const memory::Machine& machine, const std::vector<TierContents>& contents) {
  nlohmann::json all = nlohmann::json::array();
  for (const TierContents& each : contents) {
    nlohmann::json by_role = nlohmann::json::object();
    for (const auto& [role, bytes] : each.by_role) by_role[std::string(to_string(role))] = bytes;
    all.push_back({{"tier", machine.tier(each.tier).name}, {"op", each.op}, {"bytes", each.bytes}, {"roles", by_role}});
  }
  return all;
}

}  // namespace sluice::report
