// What lies in each tier at its fullest moment: known from a plan, before any memory is taken.
//
// Tensors that end up in another one's place count while they are there; gaps between tensors do not, so the sum is at
// most the arena. Cost: linear in residencies and ops, times roles.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sluice/memory/machine.hpp"
#include "sluice/plan/plan.hpp"

namespace sluice::report {

struct TierContents {
  memory::TierId tier = 0;
  std::string op;  // that runs at the fullest moment
  Bytes bytes = 0;
  std::vector<std::pair<graph::Role, Bytes>> by_role;  // what there is, most first
};

// Of tiers that hold anything.
std::vector<TierContents> tier_contents(const graph::Graph& graph, const plan::Plan& plan);

// "9.1 MiB while layer1.output.dense runs: 6.0 MiB parameters, 2.1 MiB activations"
std::string describe_contents(const TierContents& contents);
nlohmann::json contents_json(const memory::Machine& machine, const std::vector<TierContents>& contents);

}  // namespace sluice::report
