// Certified bounds where ops use slow memory in place: against random plans, and hand-made cases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/plan/plan_builder.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/planners/bound/bound_for_tests.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"
#include "sluice/profile/placement.hpp"

namespace sluice::planners {
namespace {

// Slow memory that ops can use, which takes about as long as they do; sometimes two, or a disk behind it.
memory::Machine memory_machine(std::uint64_t seed) {
  memory::Machine machine = disk_machine(seed);
  const auto draw = [&](std::uint64_t stream) {
    return 0.2 + static_cast<double>(random_bits(seed, stream, 1) % 80) / 100;
  };
  const auto make_memory = [&](memory::Tier& tier, const char* name) {
    tier = {.name = name, .kind = memory::TierKind::kEmulated, .capacity = kGiB};
    tier.read_bandwidth = 2e9 * draw(10);
    tier.write_bandwidth = 4e9 * draw(11);
    tier.granule = random_bits(seed, 12, 1) % 2 == 0 ? 64 : 256;
    tier.latency = 300e-9;
  };
  machine.tiers[0].read_bandwidth = machine.tiers[0].write_bandwidth = 2e10;
  make_memory(machine.tiers[1], "memory");
  if (seed % 3 == 0) return machine;
  machine.tiers.push_back({.name = "file", .kind = memory::TierKind::kFile, .capacity = kGiB, .addressable = false});
  if (seed % 3 == 1) make_memory(machine.tiers[2], "other memory");
  machine.links.push_back({.from = 2, .to = 0, .bandwidth = 3e8});
  machine.links.push_back({.from = 0, .to = 2, .bandwidth = 2e8, .interference = 1e-9});
  return machine;
}

TEST(CertifiedBound, HoldsWhereOpsUseSlowMemoryInPlace) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    ASSERT_LE(most_proved(seed, memory_machine(seed)), 1);
  }
}

// Times of every set of each op's operands in the slow tier: of no sum, and not even more the more there are.
std::shared_ptr<const profile::PlacementTimes> random_placements(const graph::Graph& graph, const memory::Tier& tier,
                                                                 std::uint64_t seed) {
  profile::PlacementTimes times{.tier = profile::tier_key(tier)};
  std::uint64_t turn = 0;
  for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
    profile::OpConfigurations configurations;
    for (const profile::OperandSet set : profile::configurations_to_measure(graph.op(op))) {
      const double seconds = 1e-6 * static_cast<double>(random_bits(seed, 13, turn++) % 200);
      configurations.push_back({.slow = set, .timing = {.median = seconds}});
    }
    times.index.push_back(static_cast<std::int32_t>(times.distinct.size()));
    times.distinct.push_back(std::move(configurations));
  }
  return std::make_shared<const profile::PlacementTimes>(std::move(times));
}

TEST(CertifiedBound, HoldsWhereUseInPlaceWasMeasured) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    memory::Machine machine = memory_machine(seed);
    machine.tiers[1].kind = memory::TierKind::kNuma;
    const graph::Graph graph = testing::random_graph(seed, {.most_bytes = 100 * memory::kBlockAlignment});
    profile::Profile profile = times_of(graph, seed);
    profile.placements.push_back(random_placements(graph, machine.tiers[1], seed));
    ASSERT_LE(most_proved(seed, machine, graph, profile), 1);
  }
}

// A step of ops that read `inputs` and make `output`, with slow memory that reads and writes 1 GB/s in place.
class InPlaceStep {
 public:
  InPlaceStep() {
    machine = disk_machine(1);
    for (memory::Link& link : machine.links) link = {.from = link.from, .to = link.to, .bandwidth = 1e9};
    machine.tiers[1] = {.name = "memory", .kind = memory::TierKind::kEmulated, .capacity = kGiB};
    machine.tiers[1].read_bandwidth = machine.tiers[1].write_bandwidth = 1e9;
  }

  graph::TensorId tensor(const char* name, Bytes bytes, graph::Role role = graph::Role::kActivation) {
    return graph.add_tensor({.name = name, .shape = {bytes / 4}, .role = role});
  }
  void op(std::vector<graph::TensorId> inputs, std::vector<graph::TensorId> outputs, Seconds seconds) {
    graph.add_op(
        {.name = "op", .kind = graph::OpKind::kRelu, .inputs = std::move(inputs), .outputs = std::move(outputs)});
    profile.op_seconds.push_back(seconds);
  }
  plan::StepPrices prices() const {
    const auto ops = graph.ops().size();
    return {std::vector<double>(ops, 0), std::vector<plan::SlotPrice>(ops, plan::SlotPrice{0, 0}),
            std::vector<plan::SlotPrice>(ops + 1, plan::SlotPrice{1, 0}), std::vector<double>(ops, 0)};
  }
  Seconds certified(const plan::StepPrices& prices, Bytes fast) const {
    const profile::CostModel costs(graph, profile, machine);
    const auto in_place = in_place_costs(graph, costs, machine);
    plan::BoundedStep step{graph, profile.op_seconds, two_way_link(costs, machine), fast};
    step.in_place = in_place;
    return plan::certified_seconds(step, prices).value();
  }
  Seconds bound(Bytes fast) const {
    const std::vector<Bytes> budgets{fast, kGiB};
    return certified_bound(graph, profile::CostModel(graph, profile, machine), machine, budgets, false, 5)->seconds;
  }

  graph::Graph graph;
  profile::Profile profile;
  memory::Machine machine;
};

// Each of two weights could be read while the op runs, both cannot: 200 MB at 1 GB/s beside 0.15 s.
TEST(CertifiedBound, ReadingInPlaceHidesBehindTheOpOnce) {
  InPlaceStep step;
  const graph::TensorId a = step.tensor("a", 100'000'000, graph::Role::kParameter);
  const graph::TensorId b = step.tensor("b", 100'000'000, graph::Role::kParameter);
  step.op({a, b}, {}, 0.15);
  plan::StepPrices prices = step.prices();
  prices.room = {1e-6};
  EXPECT_NEAR(step.certified(prices, 0), 0.15, 1e-9) << "for nothing, where reading has no price";
  prices.reading = {1};
  EXPECT_NEAR(step.certified(prices, 0), 0.2, 1e-9);
  EXPECT_NEAR(step.bound(0), 0.2, 1e-6);
  EXPECT_NEAR(step.bound(50'000'000), 0.15, 1e-6);
}

// 100 MB are written there, and what is written adds to the op; or they are made in fast memory, where there is no room.
TEST(CertifiedBound, WritingInPlaceAddsToTheOp) {
  InPlaceStep step;
  const graph::TensorId a = step.tensor("a", 100'000'000);
  step.op({}, {a}, 0.2);
  plan::StepPrices prices = step.prices();
  prices.room = {1e-6};
  EXPECT_NEAR(step.certified(prices, 0), 0.3, 1e-9);
  EXPECT_NEAR(step.bound(0), 0.3, 1e-6);
  EXPECT_NEAR(step.bound(100'000'000), 0.2, 1e-6);
}

// Each of two weights takes 0.1 s more, and so do both together, not twice as much.
TEST(CertifiedBound, MeasuredUseInPlaceCountsNoMoreThanAllOfItTakes) {
  InPlaceStep step;
  const graph::TensorId a = step.tensor("a", 100'000'000, graph::Role::kParameter);
  const graph::TensorId b = step.tensor("b", 100'000'000, graph::Role::kParameter);
  step.op({a, b}, {}, 0.2);
  step.machine.tiers[1].kind = memory::TierKind::kNuma;
  profile::PlacementTimes times{.tier = profile::tier_key(step.machine.tiers[1])};
  times.index = {0};
  times.distinct.push_back({});
  for (const profile::OperandSet set : {0, 1, 2, 3}) {
    times.distinct.back().push_back({.slow = set, .timing = {.median = set == 0 ? 0.2 : 0.3}});
  }
  step.profile.placements.push_back(std::make_shared<const profile::PlacementTimes>(std::move(times)));
  plan::StepPrices prices = step.prices();
  prices.room = {1e-6};
  EXPECT_NEAR(step.certified(prices, 0), 0.3, 1e-9);
  EXPECT_NEAR(step.bound(0), 0.3, 1e-6);
}

// What is written in slow memory is there alone: it comes anew for an op that needs it in fast memory.
TEST(CertifiedBound, WhatIsWrittenInPlaceHasNoOtherCopy) {
  InPlaceStep step;
  const graph::TensorId weight = step.tensor("weight", 100'000'000, graph::Role::kParameter);
  step.op({weight}, {}, 0.01);
  step.op({weight}, {weight}, 0.01);
  step.op({weight}, {}, 0.01);
  plan::StepPrices prices = step.prices();
  // Room is dear while the second op runs, and links cost nothing while ops run: it leaves beside the first one.
  prices.room = {0, 1e-6, 0};
  prices.reading = {1, 1, 1};
  // The second op reads and writes 100 MB in place. Then as much comes in a stall, or is read in place once more.
  EXPECT_NEAR(step.certified(prices, 0), 0.1 + 0.1 + 0.1, 1e-6);
}

// Op 0 reads `weight` in slow memory; meanwhile that is copied, and op 1 finds it in fast memory. Nobody waits.
TEST(CertifiedBound, AllowsToComeWhileAnOpReadsInPlace) {
  InPlaceStep step;
  const graph::TensorId weight = step.tensor("weight", 100 * kMiB, graph::Role::kParameter);
  const graph::TensorId crowd = step.tensor("crowd", 100 * kMiB), end = step.tensor("end", kMiB);
  step.op({weight}, {crowd}, 0.2);
  step.op({weight}, {end}, 0.01);
  plan::PlanBuilder builder(step.graph, step.machine);
  const plan::ResidencyIndex home = builder.add_residency(weight, 1, {0, 2});
  const plan::ResidencyIndex there = builder.add_residency(weight, memory::kFastTier, {0, 2});
  builder.add_residency(crowd, memory::kFastTier, {0, 1});
  builder.add_residency(end, memory::kFastTier, {1, 2});
  builder.set_tensor_tier(0, weight, 1);
  builder.add_migration(weight, home, there, plan::kStepStart, 1);
  const std::vector<Bytes> budgets{201 * kMiB, kGiB};
  const plan::Plan plan = builder.finish(budgets).value();
  ASSERT_THAT(plan::verify_plan(step.graph, step.machine, plan), ::testing::IsEmpty());
  const profile::CostModel costs(step.graph, step.profile, step.machine);
  const Seconds taken = sim::simulate(program::lower_plan(step.graph, step.machine, plan).value(), costs).step_seconds;
  EXPECT_NEAR(taken, 0.21, 1e-6);
  EXPECT_LE(step.bound(100 * kMiB), taken);
  // At prices that ask for the second's way in everywhere but while op 0 runs.
  plan::StepPrices prices = step.prices();
  prices.room = {1e-7, 0};
  prices.reading = {0, 1};
  EXPECT_LE(step.certified(prices, 100 * kMiB), taken);
}

// Plans that fill the budget and leave operands in slow memory.
TEST(CertifiedBound, NoPlannersPlanIsFasterInPlace) {
  int plans = 0, above_compute = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    PlanningProblem problem(testing::random_graph(seed, {.most_bytes = 100 * memory::kBlockAlignment}), "optane", 1e9,
                            2e10);
    problem.machine.cache_bytes = 16 * kKiB;
    const profile::CostModel costs(problem.graph, problem.profile, problem.machine);
    for (const char* planner : {"sentinel", "first-touch", "slow-only"}) {
      const PlanRequest request = problem.request(0.5);
      const auto plan = make_plan(planner, request);
      if (!plan.ok()) continue;
      const auto bound = certified_bound(problem.graph, costs, problem.machine, request.budgets, false, 5);
      ASSERT_LE(bound->seconds, plan->predicted_step_seconds) << planner;
      ++plans;
      above_compute += bound->seconds > 1.02 * costs.compute_seconds() ? 1 : 0;
    }
  }
  EXPECT_GT(plans, 80);
  EXPECT_GT(above_compute, 40) << "or the bounds say little";
}

}  // namespace
}  // namespace sluice::planners
