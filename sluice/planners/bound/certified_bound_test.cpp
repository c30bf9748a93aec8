// What is certified against what plans really take in the simulator, and against hand-made cases.
#include "sluice/planners/bound/certified_bound.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "sluice/base/random.hpp"
#include "sluice/graph/reschedule.hpp"
#include "sluice/plan/plan_builder.hpp"
#include "sluice/plan/verify/certificate.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/planners/bound/bound_for_tests.hpp"
#include "sluice/planners/bound/step_prices.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"
#include "sluice/program/program.hpp"
#include "sluice/sim/plan_costs.hpp"
#include "sluice/sim/simulator.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/random_plan.hpp"
#include "sluice/testing/random/random_schedule.hpp"

namespace sluice::planners {
namespace {

using testing::random_graph;

// What machines may have beside two tiers and a disk that both directions share.
memory::Machine odd_machine(std::uint64_t seed) {
  memory::Machine machine = disk_machine(seed);
  switch (seed % 4) {
    case 0:
      machine.links[0].shared_bandwidth = 0;  // copies out slow those in, and are not slowed themselves
      break;
    case 1:
      for (memory::Link& link : machine.links) link.interference = 0.98 / link.bandwidth;
      break;
    case 2:
      for (memory::Link& link : machine.links) link.latency = 5e-6;
      break;
    default:
      machine.tiers.push_back(
          {.name = "other", .kind = memory::TierKind::kFile, .capacity = kGiB, .addressable = false});
      machine.links.push_back({.from = 2, .to = 0, .bandwidth = 3e8});
      machine.links.push_back({.from = 0, .to = 2, .bandwidth = 2e8, .interference = 1e-9});
  }
  return machine;
}

TEST(CertifiedBound, NoRandomPlanIsFasterThanAnyPricesProve) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    ASSERT_LE(most_proved(seed, disk_machine(seed)), 1);
  }
}

TEST(CertifiedBound, HoldsForOddMachines) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    ASSERT_LE(most_proved(seed, odd_machine(seed)), 1);
  }
}

// Schedules that run ops again, or leave them out: what is certified is the plan's own step.
TEST(CertifiedBound, HoldsForStepsInAnotherOrder) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const graph::Graph graph = testing::random_graph(seed, {.most_bytes = 100 * memory::kBlockAlignment});
    const memory::Machine machine = disk_machine(seed);
    const profile::Profile profile = times_of(graph, seed);
    const graph::Rescheduled step = graph::reschedule(graph, testing::random_schedule(graph, seed)).value();
    plan::Plan plan = testing::random_plan(seed, step.graph, machine);
    plan.graph_fingerprint = graph.fingerprint();
    plan.schedule = step.op_of;
    const sim::PlanCosts costs(graph, profile, machine, plan);
    const Seconds taken = sim::simulate(program::lower_plan(graph, machine, plan).value(), costs.costs()).step_seconds;
    certify(graph, profile, machine, plan, 5);
    ASSERT_LE(plan.order_bound_seconds, taken);
    if (plan.prices) {
      ASSERT_DOUBLE_EQ(bound_by_prices(graph, profile, machine, plan).value(), plan.order_bound_seconds);
    }
  }
}

// While an op runs, what comes may take the place of what leaves: 100 MiB of `kept` go and 100 MiB of `weight` come
// under op 1, through the same room, and op 2 finds the one gone and the other there.
TEST(CertifiedBound, AllowsTwoTensorsOneRoomUnderOneOp) {
  graph::Graph graph;
  const auto tensor = [&](const char* name, Bytes bytes, graph::Role role = graph::Role::kActivation) {
    return graph.add_tensor({.name = name, .shape = {bytes / 4}, .role = role});
  };
  const graph::TensorId kept = tensor("kept", 100 * kMiB),
                        weight = tensor("weight", 100 * kMiB, graph::Role::kParameter);
  const graph::TensorId a = tensor("a", kMiB), b = tensor("b", kMiB), c = tensor("c", kMiB), end = tensor("end", kMiB);
  graph.add_op({.name = "make", .kind = graph::OpKind::kRelu, .outputs = {kept}});
  graph.add_op({.name = "long", .kind = graph::OpKind::kRelu, .outputs = {a}});
  graph.add_op({.name = "weigh", .kind = graph::OpKind::kRelu, .inputs = {weight}, .outputs = {b}});
  graph.add_op({.name = "long too", .kind = graph::OpKind::kRelu, .outputs = {c}});
  graph.add_op({.name = "use", .kind = graph::OpKind::kRelu, .inputs = {kept}, .outputs = {end}});
  const profile::Profile profile{.op_seconds = {0.1, 0.3, 0.1, 0.2, 0.1}};
  memory::Machine machine = disk_machine(1);
  for (memory::Link& link : machine.links) link = {.from = link.from, .to = link.to, .bandwidth = 1e9};
  plan::PlanBuilder builder(graph, machine);
  for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
    builder.add_residency(graph.op(op).outputs[0], memory::kFastTier, {op, op + 1});
  }
  const plan::ResidencyIndex first = 0;  // `kept`'s, which op 0 makes
  const plan::ResidencyIndex gone = builder.add_residency(kept, 1, {1, 5});
  const plan::ResidencyIndex back = builder.add_residency(kept, memory::kFastTier, {3, 5});
  const plan::ResidencyIndex home = builder.add_residency(weight, 1, {0, 5});
  const plan::ResidencyIndex there = builder.add_residency(weight, memory::kFastTier, {1, 3});
  builder.add_migration(kept, first, gone, 0, 1);
  builder.add_migration(weight, home, there, 0, 2);
  builder.add_migration(kept, gone, back, 2, 4);
  const std::vector<Bytes> budgets{101 * kMiB, kGiB};
  const plan::Plan plan = builder.finish(budgets).value();
  ASSERT_THAT(plan::verify_plan(graph, machine, plan), ::testing::IsEmpty());
  const profile::CostModel costs(graph, profile, machine);
  const Seconds taken = sim::simulate(program::lower_plan(graph, machine, plan).value(), costs).step_seconds;
  EXPECT_NEAR(taken, 0.8, 1e-6) << "everything is hidden";
  EXPECT_LE(certified_bound(graph, costs, machine, budgets, false, 5)->seconds, taken);
  // At prices by which both would pay for the room of op 1, were it taken while copies come and go.
  plan::StepPrices prices{
      {0, 5e-10, 0, 0, 0}, std::vector<plan::SlotPrice>(5, {0, 0}), std::vector<plan::SlotPrice>(6, {0.5, 0.5})};
  const plan::BoundedStep step{graph, profile.op_seconds, two_way_link(costs, machine), budgets[memory::kFastTier]};
  EXPECT_LE(plan::certified_seconds(step, prices).value(), taken);
}

// Half of the bytes on the link: half as long where everything waits for it.
TEST(CertifiedBound, CountsTheBytesThatTheLinkMoves) {
  graph::Graph graph;
  const graph::TensorId x = graph.add_tensor({.name = "x", .shape = {25 * kMiB}, .role = graph::Role::kParameter});
  const graph::TensorId crowd =
      graph.add_tensor({.name = "crowd", .shape = {25 * kMiB}, .role = graph::Role::kActivation});
  graph.add_op({.name = "crowd", .kind = graph::OpKind::kRelu, .outputs = {crowd}});
  graph.add_op({.name = "use", .kind = graph::OpKind::kRelu, .inputs = {x}});
  graph.add_op({.name = "crowd again", .kind = graph::OpKind::kRelu, .outputs = {crowd}});
  const profile::Profile profile{.op_seconds = {1e-3, 1e-3, 1e-3}};
  plan::BoundedStep step{graph, profile.op_seconds, {.in = {1e-9, 0}, .out = {0, 1e-9}}, 100 * kMiB};
  const plan::StepPrices prices{{1e-9, 0, 1e-9}, {{1, 0}, {0, 0}, {0, 0}}, {{1, 0}, {1, 0}, {1, 0}, {1, 0}}};
  const double all = 100.0 * kMiB * 1e-9;
  EXPECT_NEAR(plan::certified_seconds(step, prices).value(), 2e-3 + all, 1e-9);
  const std::vector<double> shares{0.5, 1};
  step.moved_share = shares;
  EXPECT_NEAR(plan::certified_seconds(step, prices).value(), 2e-3 + all / 2, 1e-9);
}

// Plans that fill the budget, of random steps and of networks.
TEST(CertifiedBound, NoPlannersPlanIsFaster) {
  std::vector<graph::Graph> graphs;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    graphs.push_back(testing::random_graph(seed, {.most_bytes = 100 * memory::kBlockAlignment}));
  }
  for (const char* model : {"resnet20", "mobilenet_v2"}) graphs.push_back(merged_model(model, 4, 32));
  int plans = 0;
  int above_compute = 0;
  for (graph::Graph& graph : graphs) {
    SCOPED_TRACE(graph.name);
    PlanningProblem problem(std::move(graph), "file", 3e8);
    for (memory::Link& link : problem.machine.links) link.latency = 0;  // or it is most of what such small tensors take
    const profile::CostModel costs(problem.graph, problem.profile, problem.machine);
    const Seconds compute =
        std::accumulate(problem.profile.op_seconds.begin(), problem.profile.op_seconds.end(), Seconds{0});
    for (const char* planner : {"sentinel", "on-demand"}) {
      const PlanRequest request = problem.request(0.6);
      const auto plan = make_plan(planner, request);
      if (!plan.ok()) continue;
      const auto bound = certified_bound(problem.graph, costs, problem.machine, request.budgets, false, 5);
      ASSERT_LE(bound->seconds, plan->predicted_step_seconds) << planner;
      const plan::BoundedStep step{problem.graph, problem.profile.op_seconds, two_way_link(costs, problem.machine),
                                   request.budgets[memory::kFastTier]};
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        ASSERT_LE(plan::certified_seconds(step, random_prices(problem.graph, seed)).value(),
                  plan->predicted_step_seconds);
      }
      ++plans;
      above_compute += bound->seconds > 1.02 * compute ? 1 : 0;
    }
  }
  EXPECT_GT(plans, 60);
  EXPECT_GT(above_compute, 20) << "or the bounds say little";
}

TEST(CertifiedBound, IsTheComputeTimeWhereEverythingFits) {
  const PlanningProblem problem(merged_model("resnet20", 4, 32), "file", 2e9);
  const profile::CostModel costs(problem.graph, problem.profile, problem.machine);
  const PlanRequest request = problem.request(1);
  Seconds compute = 0;
  for (const Seconds seconds : problem.profile.op_seconds) compute += seconds;
  const auto bound = certified_bound(problem.graph, costs, problem.machine, request.budgets, false, 5);
  EXPECT_NEAR(bound->seconds, compute, 1e-9 * compute);
}

// 100 MiB made, and read again behind an op that takes 100 MiB itself: what has no room beside it goes out in a stall
// before that op and comes back in one behind it.
TEST(CertifiedBound, CountsWhatCannotBeHidden) {
  graph::Graph graph;
  const auto tensor = [&](const char* name, Bytes bytes) {
    return graph.add_tensor({.name = name, .shape = {bytes / 4}, .role = graph::Role::kActivation});
  };
  const graph::TensorId kept = tensor("kept", 100 * kMiB), other = tensor("other", 100 * kMiB),
                        end = tensor("end", kMiB);
  graph.add_op({.name = "make", .kind = graph::OpKind::kRelu, .outputs = {kept}});
  graph.add_op({.name = "crowd", .kind = graph::OpKind::kRelu, .outputs = {other}});
  graph.add_op({.name = "use", .kind = graph::OpKind::kRelu, .inputs = {kept}, .outputs = {end}});
  const profile::Profile profile{.op_seconds = {1e-3, 1e-3, 1e-3}};
  memory::Machine machine = disk_machine(1);
  for (memory::Link& link : machine.links) link = {.from = link.from, .to = link.to, .bandwidth = 1e9};
  const profile::CostModel costs(graph, profile, machine);
  // Room too dear to stay: all of it pays for going out before the op and coming back behind it, and `other` for the
  // room.
  const plan::StepPrices dear{{0, 1e-6, 0}, {{0, 0}, {1, 0}, {0, 0}}, {{1, 0}, {0, 1}, {1, 0}, {1, 0}}};
  const plan::BoundedStep step{graph, profile.op_seconds, two_way_link(costs, machine), 100 * kMiB};
  EXPECT_NEAR(plan::certified_seconds(step, dear).value(), 2e-3 + 2 * (100.0 * kMiB) / 1e9, 1e-6);
  const auto seconds = [&](Bytes fast) {
    const std::vector<Bytes> budgets{fast, kGiB};
    return certified_bound(graph, costs, machine, budgets, false, 5)->seconds;
  };
  EXPECT_NEAR(seconds(200 * kMiB), 3e-3, 1e-9);
  // As a fluid, a millisecond's worth may come back while the op runs, to where as much leaves.
  EXPECT_NEAR(seconds(101 * kMiB), 2e-3 + 2 * (99.0 * kMiB) / 1e9, 1e-3);
  EXPECT_NEAR(seconds(150 * kMiB), 2e-3 + 2 * (50.0 * kMiB) / 1e9, 1e-3) << "half of it stays";
}

// The bound is convex in the memory: less saves no more than the prices say, and costs no less.
TEST(CertifiedBound, ThePricesSayWhatMoreIsWorth) {
  const PlanningProblem problem(merged_model("resnet20", 64, 32), "file", 3e8);
  const PlanRequest request = problem.request(0.4);
  plan::Plan plan = make_plan("sentinel", request).value();
  certify(problem.graph, problem.profile, problem.machine, plan, 10);
  ASSERT_TRUE(plan.prices);
  EXPECT_DOUBLE_EQ(bound_by_prices(problem.graph, problem.profile, problem.machine, plan).value(),
                   plan.order_bound_seconds);
  const Worth worth = worth_by_prices(problem.graph, problem.profile, problem.machine, plan).value();
  EXPECT_GT(worth.per_mib, 0);
  EXPECT_GT(worth.per_tenth_of_speed, 0);
  EXPECT_FALSE(worth.dearest.empty());
  const profile::CostModel costs(problem.graph, problem.profile, problem.machine);
  const auto bound_with = [&](Bytes more) {
    std::vector<Bytes> budgets = request.budgets;
    budgets[memory::kFastTier] += more;
    return certified_bound(problem.graph, costs, problem.machine, budgets, false, 10)->seconds;
  };
  const double rounding = 1e-6 * plan.order_bound_seconds;
  EXPECT_LE(plan.order_bound_seconds - bound_with(kMiB), worth.per_mib + rounding);
  EXPECT_GE(bound_with(-kMiB) - plan.order_bound_seconds, worth.per_mib - rounding);
}

TEST(CertifiedBound, PricesOfAnotherStepProveNothing) {
  const PlanningProblem problem(merged_model("resnet20", 16, 32), "file", 3e8);
  plan::Plan plan = make_plan("sentinel", problem.request(0.4)).value();
  certify(problem.graph, problem.profile, problem.machine, plan, 10);
  ASSERT_TRUE(plan.prices);
  const auto refused = [&](auto change) {
    plan::Plan changed = plan;
    change(*changed.prices);
    const auto bound = bound_by_prices(problem.graph, problem.profile, problem.machine, changed);
    return !bound.ok() && bound.error().code == ErrorCode::kBadInput;
  };
  EXPECT_TRUE(refused([](plan::StepPrices& prices) { prices.room.pop_back(); }));
  EXPECT_TRUE(refused([](plan::StepPrices& prices) { prices.stall.push_back({0, 0}); }));
  EXPECT_TRUE(refused([](plan::StepPrices& prices) { prices.room[3] = -1e-12; }));
  EXPECT_TRUE(refused([](plan::StepPrices& prices) { prices.run[3] = {0.7, 0.4}; }));
  EXPECT_TRUE(refused([](plan::StepPrices& prices) { prices.room[3] = std::numeric_limits<double>::infinity(); }));
  EXPECT_TRUE(refused([](plan::StepPrices& prices) { prices.room[3] = std::nan(""); }));
  EXPECT_TRUE(refused([](plan::StepPrices& prices) { prices.room[3] = 1e305; }));
  plan.prices.reset();
  EXPECT_EQ(bound_by_prices(problem.graph, problem.profile, problem.machine, plan).error().code,
            ErrorCode::kUnsupported);
}

// A value that is written anew before anybody reads it again takes no room until then.
TEST(CertifiedBound, AsksNothingForWhatIsWrittenAnew) {
  graph::Graph graph;
  const auto tensor = [&](const char* name) {
    return graph.add_tensor({.name = name, .shape = {25 * kMiB}, .role = graph::Role::kActivation});
  };
  const graph::TensorId scratch = tensor("scratch"), other = tensor("other");
  for (const graph::TensorId made : {scratch, other, scratch}) {
    graph.add_op({.name = graph.tensor(made).name, .kind = graph::OpKind::kRelu, .outputs = {made}});
  }
  const profile::Profile profile{.op_seconds = {1e-3, 1e-3, 1e-3}};
  const memory::Machine machine = disk_machine(1);
  const profile::CostModel costs(graph, profile, machine);
  const std::vector<Bytes> budgets{100 * kMiB, kGiB};
  plan::StepPrices prices{{0, 1e-9, 0}, {{0, 0}, {0, 0}, {0, 0}}, {{1, 0}, {1, 0}, {1, 0}, {1, 0}}};
  const plan::BoundedStep step{graph, profile.op_seconds, two_way_link(costs, machine), budgets[memory::kFastTier]};
  EXPECT_NEAR(plan::certified_seconds(step, prices).value(), 3e-3, 1e-9) << "other pays for all of the room";
}

TEST(CertifiedBound, SaysNothingOfMachinesThatItDoesNotReckonWith) {
  const graph::Graph graph = testing::random_graph(1);
  const profile::Profile profile = times_of(graph, 1);
  memory::Machine machine = disk_machine(1);
  const std::vector<Bytes> budgets{kMiB, kGiB};
  machine.links[1].bandwidth = 0;
  EXPECT_FALSE(certified_bound(graph, profile::CostModel(graph, profile, machine), machine, budgets, false, 1));
}

}  // namespace
}  // namespace sluice::planners
