// Steps, machines and prices that bounds are tried on.
#pragma once

#include <algorithm>

#include "sluice/base/random.hpp"
#include "sluice/plan/verify/certificate.hpp"
#include "sluice/planners/bound/certified_bound.hpp"
#include "sluice/planners/bound/in_place_costs.hpp"
#include "sluice/program/program.hpp"
#include "sluice/sim/simulator.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/random_plan.hpp"

namespace sluice::planners {

// A machine with a slow tier that ops do not use, links that share a disk and take compute time.
inline memory::Machine disk_machine(std::uint64_t seed) {
  memory::Machine machine;
  machine.tiers.push_back({.name = "dram", .capacity = kGiB});
  machine.tiers.push_back({.name = "file", .kind = memory::TierKind::kFile, .capacity = kGiB, .addressable = false});
  const auto draw = [&](std::uint64_t stream) {
    return 0.2 + static_cast<double>(random_bits(seed, stream, 0) % 80) / 100;
  };
  for (const memory::TierId from : {1, 0}) {
    memory::Link link{.from = from, .to = 1 - from, .bandwidth = 1e9 * draw(static_cast<std::uint64_t>(from))};
    link.shared_bandwidth = link.bandwidth * draw(2);
    link.interference = 0.5 * draw(3) / link.bandwidth;
    machine.links.push_back(link);
  }
  return machine;
}

inline profile::Profile times_of(const graph::Graph& graph, std::uint64_t seed) {
  profile::Profile profile;
  for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
    profile.op_seconds.push_back(1e-6 *
                                 static_cast<double>(1 + random_bits(seed, 4, static_cast<std::uint64_t>(op)) % 60));
  }
  return profile;
}

// By slot: an op, or an epoch.
inline plan::StepPrices random_prices(graph::OpIndex slots, std::uint64_t seed, double dearest_room = 1e-10) {
  plan::StepPrices prices;
  std::uint64_t turn = 0;
  const auto draw = [&](double most) { return most * static_cast<double>(random_bits(seed, 5, turn++) % 1000) / 1000; };
  for (graph::OpIndex slot = 0; slot <= slots; ++slot) {
    const double first = draw(1);
    prices.stall.push_back({first, draw(1 - first)});
    if (slot == slots) break;
    prices.room.push_back(draw(dearest_room));
    prices.run.push_back({draw(0.5), draw(0.5)});
    prices.reading.push_back(draw(0.999 - prices.run.back()[0] - prices.run.back()[1]));
  }
  return prices;
}

inline plan::StepPrices random_prices(const graph::Graph& graph, std::uint64_t seed) {
  return random_prices(graph.op_count(), seed);
}

// What is proved of a step by its own prices and by random ones, at most, over what a random plan of it takes: 1 at most.
inline double most_proved(std::uint64_t seed, const memory::Machine& machine, const graph::Graph& graph,
                          const profile::Profile& profile) {
  const profile::CostModel costs(graph, profile, machine);
  const plan::Plan plan = testing::random_plan(seed, graph, machine);
  const Seconds taken = sim::simulate(program::lower_plan(graph, machine, plan).value(), costs).step_seconds;
  Seconds proved = certified_bound(graph, costs, machine, plan.budgets, false, 5).value().seconds;
  const auto in_place = in_place_costs(graph, costs, machine);
  plan::BoundedStep step{graph, profile.op_seconds, two_way_link(costs, machine), plan.budgets[memory::kFastTier]};
  step.in_place = in_place;
  for (std::uint64_t turn = 0; turn < 4; ++turn) {
    proved = std::max(proved, plan::certified_seconds(step, random_prices(graph, 4 * seed + turn)).value());
  }
  return proved / taken;
}

inline double most_proved(std::uint64_t seed, const memory::Machine& machine) {
  const graph::Graph graph = testing::random_graph(seed, {.most_bytes = 100 * memory::kBlockAlignment});
  return most_proved(seed, machine, graph, times_of(graph, seed));
}

}  // namespace sluice::planners
