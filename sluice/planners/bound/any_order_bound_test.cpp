// What is certified of any order against plans in random orders, with ops run again and left out.
#include "sluice/planners/bound/any_order_bound.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/base/random.hpp"
#include "sluice/graph/reschedule.hpp"
#include "sluice/plan/verify/any_order_certificate.hpp"
#include "sluice/planners/bound/step_to_bound.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/problem_for_tests.hpp"
#include "sluice/program/program.hpp"
#include "sluice/sim/plan_costs.hpp"
#include "sluice/sim/simulator.hpp"
#include "sluice/testing/random_graph.hpp"
#include "sluice/testing/random_plan.hpp"
#include "sluice/testing/random_schedule.hpp"

namespace sluice {
namespace {

// A disk that both directions share, and whose copies take compute time.
Machine machine_with_disk(std::uint64_t seed) {
  Machine machine;
  machine.tiers.push_back({.name = "dram", .capacity = kGiB});
  machine.tiers.push_back({.name = "file", .kind = TierKind::kFile, .capacity = kGiB, .addressable = false});
  const auto draw = [&](std::uint64_t stream) {
    return 0.2 + static_cast<double>(random_bits(seed, stream, 0) % 80) / 100;
  };
  for (const TierId from : {1, 0}) {
    Link link{.from = from, .to = 1 - from, .bandwidth = 1e9 * draw(static_cast<std::uint64_t>(from))};
    link.shared_bandwidth = link.bandwidth * draw(2);
    link.interference = 0.5 * draw(3) / link.bandwidth;
    machine.links.push_back(link);
  }
  return machine;
}

Profile random_times(const Graph& graph, std::uint64_t seed) {
  Profile profile;
  for (OpIndex op = 0; op < graph.op_count(); ++op) {
    profile.op_seconds.push_back(1e-6 *
                                 static_cast<double>(1 + random_bits(seed, 4, static_cast<std::uint64_t>(op)) % 60));
  }
  return profile;
}

StepPrices random_epoch_prices(Epoch epochs, double dearest_room, std::uint64_t seed) {
  StepPrices prices;
  std::uint64_t turn = 0;
  const auto draw = [&](double most) { return most * static_cast<double>(random_bits(seed, 5, turn++) % 1000) / 1000; };
  for (Epoch epoch = 0; epoch <= epochs; ++epoch) {
    const double first = draw(1);
    prices.stall.push_back({first, draw(1 - first)});
    if (epoch == epochs) break;
    prices.room.push_back(draw(1) < 0.5 ? 0 : draw(dearest_room));
    prices.run.push_back({draw(0.5), draw(0.5)});
  }
  return prices;
}

TEST(AnyOrderBound, NoPlanInARandomOrderIsFasterThanAnyPricesProve) {
  int above_compute = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = testing::random_graph(seed, {.most_bytes = 100 * kTensorAlignment});
    const Machine machine = machine_with_disk(seed);
    const Profile profile = random_times(graph, seed);
    const double repeats = seed % 3 == 0 ? 1.5 : 1.0;
    const Rescheduled step = reschedule(graph, testing::random_schedule(graph, seed, repeats)).value();
    Plan plan = testing::random_plan(seed, step.graph, machine);
    plan.graph_fingerprint = graph.fingerprint();
    plan.schedule = step.op_of;
    const PlanCosts planned(graph, profile, machine, plan);
    const Seconds taken = simulate(lower_plan(graph, machine, plan).value(), planned.costs()).step_seconds;
    certify_any_order(graph, profile, machine, plan, 5);
    ASSERT_LE(plan.any_order_bound_seconds, taken);
    if (plan.any_order_prices) {
      ASSERT_DOUBLE_EQ(any_order_bound_by_prices(graph, profile, machine, plan).value(), plan.any_order_bound_seconds);
      ++above_compute;
    }
    const CostModel costs(graph, profile, machine);
    const StepToBound bounded(graph, costs, machine, plan.budgets[kFastTier], false);
    const AnyOrder order = find_any_order(graph, bounded.op_seconds);
    for (std::uint64_t turn = 0; turn < 20; ++turn) {
      const StepPrices prices = random_epoch_prices(order.epochs(), turn % 2 == 0 ? 1e-10 : 1e-9, seed * 100 + turn);
      ASSERT_LE(certified_any_order_seconds(bounded.step, order, prices).value(), taken) << "prices " << turn;
    }
  }
  EXPECT_GT(above_compute, 20) << "or the bounds say little";
}

}  // namespace
}  // namespace sluice
