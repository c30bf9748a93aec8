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
#include "sluice/planners/bound/in_place_costs.hpp"
#include "sluice/planners/bound/step_prices.hpp"
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

using testing::random_graph;

// A machine with a slow tier that ops do not use, links that share a disk and take compute time.
Machine disk_machine(std::uint64_t seed) {
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

Profile times_of(const Graph& graph, std::uint64_t seed) {
  Profile profile;
  for (OpIndex op = 0; op < graph.op_count(); ++op) {
    profile.op_seconds.push_back(1e-6 *
                                 static_cast<double>(1 + random_bits(seed, 4, static_cast<std::uint64_t>(op)) % 60));
  }
  return profile;
}

StepPrices random_prices(const Graph& graph, std::uint64_t seed) {
  StepPrices prices;
  std::uint64_t turn = 0;
  const auto draw = [&](double most) { return most * static_cast<double>(random_bits(seed, 5, turn++) % 1000) / 1000; };
  for (OpIndex op = 0; op <= graph.op_count(); ++op) {
    const double first = draw(1);
    prices.stall.push_back({first, draw(1 - first)});
    if (op == graph.op_count()) break;
    prices.room.push_back(draw(1e-10));
    prices.run.push_back({draw(0.5), draw(0.5)});
    prices.reading.push_back(draw(0.999 - prices.run.back()[0] - prices.run.back()[1]));
  }
  return prices;
}

// What machines may have beside two tiers and a disk that both directions share.
Machine odd_machine(std::uint64_t seed) {
  Machine machine = disk_machine(seed);
  switch (seed % 4) {
    case 0:
      machine.links[0].shared_bandwidth = 0;  // copies out slow those in, and are not slowed themselves
      break;
    case 1:
      for (Link& link : machine.links) link.interference = 0.98 / link.bandwidth;
      break;
    case 2:
      for (Link& link : machine.links) link.latency = 5e-6;
      break;
    default:
      machine.tiers.push_back({.name = "other", .kind = TierKind::kFile, .capacity = kGiB, .addressable = false});
      machine.links.push_back({.from = 2, .to = 0, .bandwidth = 3e8});
      machine.links.push_back({.from = 0, .to = 2, .bandwidth = 2e8, .interference = 1e-9});
  }
  return machine;
}

// Any prices prove something true of any plan.
void expect_nothing_false_is_proved(std::uint64_t seed, const Machine& machine, const Graph& graph,
                                    const Profile& profile) {
  const CostModel costs(graph, profile, machine);
  const Plan plan = testing::random_plan(seed, graph, machine);
  const Seconds taken = simulate(lower_plan(graph, machine, plan).value(), costs).step_seconds;
  const auto bound = certified_bound(graph, costs, machine, plan.budgets, false, 5);
  ASSERT_TRUE(bound);
  ASSERT_LE(bound->seconds, taken);
  const auto in_place = in_place_costs(graph, costs, machine);
  BoundedStep step{graph, profile.op_seconds, two_way_link(costs, machine), plan.budgets[kFastTier]};
  step.in_place = in_place;
  for (std::uint64_t turn = 0; turn < 4; ++turn) {
    ASSERT_LE(certified_seconds(step, random_prices(graph, 4 * seed + turn)).value(), taken);
  }
}

void expect_nothing_false_is_proved(std::uint64_t seed, const Machine& machine) {
  const Graph graph = random_graph(seed, {.most_bytes = 100 * kTensorAlignment});
  expect_nothing_false_is_proved(seed, machine, graph, times_of(graph, seed));
}

// Slow memory that ops can use, which takes about as long as they do; sometimes two, or a disk behind it.
Machine memory_machine(std::uint64_t seed) {
  Machine machine = disk_machine(seed);
  const auto draw = [&](std::uint64_t stream) {
    return 0.2 + static_cast<double>(random_bits(seed, stream, 1) % 80) / 100;
  };
  const auto make_memory = [&](Tier& tier, const char* name) {
    tier = {.name = name, .kind = TierKind::kEmulated, .capacity = kGiB};
    tier.read_bandwidth = 2e9 * draw(10);
    tier.write_bandwidth = 4e9 * draw(11);
    tier.granule = random_bits(seed, 12, 1) % 2 == 0 ? 64 : 256;
    tier.latency = 300e-9;
  };
  machine.tiers[0].read_bandwidth = machine.tiers[0].write_bandwidth = 2e10;
  make_memory(machine.tiers[1], "memory");
  if (seed % 3 == 0) return machine;
  machine.tiers.push_back({.name = "file", .kind = TierKind::kFile, .capacity = kGiB, .addressable = false});
  if (seed % 3 == 1) make_memory(machine.tiers[2], "other memory");
  machine.links.push_back({.from = 2, .to = 0, .bandwidth = 3e8});
  machine.links.push_back({.from = 0, .to = 2, .bandwidth = 2e8, .interference = 1e-9});
  return machine;
}

TEST(CertifiedBound, NoRandomPlanIsFasterThanAnyPricesProve) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    expect_nothing_false_is_proved(seed, disk_machine(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(CertifiedBound, HoldsForOddMachines) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    expect_nothing_false_is_proved(seed, odd_machine(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(CertifiedBound, HoldsWhereOpsUseSlowMemoryInPlace) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    expect_nothing_false_is_proved(seed, memory_machine(seed));
    if (HasFatalFailure()) return;
  }
}

// Times of every set of each op's operands in the slow tier: of no sum, and not even more the more there are.
std::shared_ptr<const PlacementTimes> random_placements(const Graph& graph, const Tier& tier, std::uint64_t seed) {
  PlacementTimes times{.tier = tier_key(tier)};
  std::uint64_t turn = 0;
  for (OpIndex op = 0; op < graph.op_count(); ++op) {
    OpConfigurations configurations;
    for (const OperandSet set : configurations_to_measure(graph.op(op))) {
      const double seconds = 1e-6 * static_cast<double>(random_bits(seed, 13, turn++) % 200);
      configurations.push_back({.slow = set, .timing = {.median = seconds}});
    }
    times.index.push_back(static_cast<std::int32_t>(times.distinct.size()));
    times.distinct.push_back(std::move(configurations));
  }
  return std::make_shared<const PlacementTimes>(std::move(times));
}

TEST(CertifiedBound, HoldsWhereUseInPlaceWasMeasured) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Machine machine = memory_machine(seed);
    machine.tiers[1].kind = TierKind::kNuma;
    const Graph graph = random_graph(seed, {.most_bytes = 100 * kTensorAlignment});
    Profile profile = times_of(graph, seed);
    profile.placements.push_back(random_placements(graph, machine.tiers[1], seed));
    expect_nothing_false_is_proved(seed, machine, graph, profile);
    if (HasFatalFailure()) return;
  }
}

// Schedules that run ops again, or leave them out: what is certified is the plan's own step.
TEST(CertifiedBound, HoldsForStepsInAnotherOrder) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_graph(seed, {.most_bytes = 100 * kTensorAlignment});
    const Machine machine = disk_machine(seed);
    const Profile profile = times_of(graph, seed);
    const Rescheduled step = reschedule(graph, testing::random_schedule(graph, seed)).value();
    Plan plan = testing::random_plan(seed, step.graph, machine);
    plan.graph_fingerprint = graph.fingerprint();
    plan.schedule = step.op_of;
    const PlanCosts costs(graph, profile, machine, plan);
    const Seconds taken = simulate(lower_plan(graph, machine, plan).value(), costs.costs()).step_seconds;
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
  Graph graph;
  const auto tensor = [&](const char* name, Bytes bytes, Role role = Role::kActivation) {
    return graph.add_tensor({.name = name, .shape = {bytes / 4}, .role = role});
  };
  const TensorId kept = tensor("kept", 100 * kMiB), weight = tensor("weight", 100 * kMiB, Role::kParameter);
  const TensorId a = tensor("a", kMiB), b = tensor("b", kMiB), c = tensor("c", kMiB), end = tensor("end", kMiB);
  graph.add_op({.name = "make", .kind = OpKind::kRelu, .outputs = {kept}});
  graph.add_op({.name = "long", .kind = OpKind::kRelu, .outputs = {a}});
  graph.add_op({.name = "weigh", .kind = OpKind::kRelu, .inputs = {weight}, .outputs = {b}});
  graph.add_op({.name = "long too", .kind = OpKind::kRelu, .outputs = {c}});
  graph.add_op({.name = "use", .kind = OpKind::kRelu, .inputs = {kept}, .outputs = {end}});
  const Profile profile{.op_seconds = {0.1, 0.3, 0.1, 0.2, 0.1}};
  Machine machine = disk_machine(1);
  for (Link& link : machine.links) link = {.from = link.from, .to = link.to, .bandwidth = 1e9};
  PlanBuilder builder(graph, machine);
  for (OpIndex op = 0; op < graph.op_count(); ++op) {
    builder.add_residency(graph.op(op).outputs[0], kFastTier, {op, op + 1});
  }
  const ResidencyIndex first = 0;  // `kept`'s, which op 0 makes
  const ResidencyIndex gone = builder.add_residency(kept, 1, {1, 5});
  const ResidencyIndex back = builder.add_residency(kept, kFastTier, {3, 5});
  const ResidencyIndex home = builder.add_residency(weight, 1, {0, 5});
  const ResidencyIndex there = builder.add_residency(weight, kFastTier, {1, 3});
  builder.add_migration(kept, first, gone, 0, 1);
  builder.add_migration(weight, home, there, 0, 2);
  builder.add_migration(kept, gone, back, 2, 4);
  const std::vector<Bytes> budgets{101 * kMiB, kGiB};
  const Plan plan = builder.finish(budgets).value();
  ASSERT_THAT(verify_plan(graph, machine, plan), ::testing::IsEmpty());
  const CostModel costs(graph, profile, machine);
  const Seconds taken = simulate(lower_plan(graph, machine, plan).value(), costs).step_seconds;
  EXPECT_NEAR(taken, 0.8, 1e-6) << "everything is hidden";
  EXPECT_LE(certified_bound(graph, costs, machine, budgets, false, 5)->seconds, taken);
  // At prices by which both would pay for the room of op 1, were it taken while copies come and go.
  StepPrices prices{{0, 5e-10, 0, 0, 0}, std::vector<SlotPrice>(5, {0, 0}), std::vector<SlotPrice>(6, {0.5, 0.5})};
  const BoundedStep step{graph, profile.op_seconds, two_way_link(costs, machine), budgets[kFastTier]};
  EXPECT_LE(certified_seconds(step, prices).value(), taken);
}

// Half of the bytes on the link: half as long where everything waits for it.
TEST(CertifiedBound, CountsTheBytesThatTheLinkMoves) {
  Graph graph;
  const TensorId x = graph.add_tensor({.name = "x", .shape = {25 * kMiB}, .role = Role::kParameter});
  const TensorId crowd = graph.add_tensor({.name = "crowd", .shape = {25 * kMiB}, .role = Role::kActivation});
  graph.add_op({.name = "crowd", .kind = OpKind::kRelu, .outputs = {crowd}});
  graph.add_op({.name = "use", .kind = OpKind::kRelu, .inputs = {x}});
  graph.add_op({.name = "crowd again", .kind = OpKind::kRelu, .outputs = {crowd}});
  const Profile profile{.op_seconds = {1e-3, 1e-3, 1e-3}};
  BoundedStep step{graph, profile.op_seconds, {.in = {1e-9, 0}, .out = {0, 1e-9}}, 100 * kMiB};
  const StepPrices prices{{1e-9, 0, 1e-9}, {{1, 0}, {0, 0}, {0, 0}}, {{1, 0}, {1, 0}, {1, 0}, {1, 0}}};
  const double all = 100.0 * kMiB * 1e-9;
  EXPECT_NEAR(certified_seconds(step, prices).value(), 2e-3 + all, 1e-9);
  const std::vector<double> shares{0.5, 1};
  step.moved_share = shares;
  EXPECT_NEAR(certified_seconds(step, prices).value(), 2e-3 + all / 2, 1e-9);
}

// Plans that fill the budget, of random steps and of networks.
TEST(CertifiedBound, NoPlannersPlanIsFaster) {
  std::vector<Graph> graphs;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    graphs.push_back(random_graph(seed, {.most_bytes = 100 * kTensorAlignment}));
  }
  for (const char* model : {"resnet20", "mobilenet_v2"}) graphs.push_back(merged_model(model, 4, 32));
  int plans = 0;
  int above_compute = 0;
  for (Graph& graph : graphs) {
    SCOPED_TRACE(graph.name);
    PlanningProblem problem(std::move(graph), "file", 3e8);
    for (Link& link : problem.machine.links) link.latency = 0;  // or it is most of what such small tensors take
    const CostModel costs(problem.graph, problem.profile, problem.machine);
    const Seconds compute =
        std::accumulate(problem.profile.op_seconds.begin(), problem.profile.op_seconds.end(), Seconds{0});
    for (const char* planner : {"sentinel", "on-demand"}) {
      const PlanRequest request = problem.request(0.6);
      const auto plan = make_plan(planner, request);
      if (!plan.ok()) continue;
      const auto bound = certified_bound(problem.graph, costs, problem.machine, request.budgets, false, 5);
      ASSERT_LE(bound->seconds, plan->predicted_step_seconds) << planner;
      const BoundedStep step{problem.graph, problem.profile.op_seconds, two_way_link(costs, problem.machine),
                             request.budgets[kFastTier]};
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        ASSERT_LE(certified_seconds(step, random_prices(problem.graph, seed)).value(), plan->predicted_step_seconds);
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
  const CostModel costs(problem.graph, problem.profile, problem.machine);
  const PlanRequest request = problem.request(1);
  Seconds compute = 0;
  for (const Seconds seconds : problem.profile.op_seconds) compute += seconds;
  const auto bound = certified_bound(problem.graph, costs, problem.machine, request.budgets, false, 5);
  EXPECT_NEAR(bound->seconds, compute, 1e-9 * compute);
}

// 100 MiB made, and read again behind an op that takes 100 MiB itself: what has no room beside it goes out in a stall
// before that op and comes back in one behind it.
TEST(CertifiedBound, CountsWhatCannotBeHidden) {
  Graph graph;
  const auto tensor = [&](const char* name, Bytes bytes) {
    return graph.add_tensor({.name = name, .shape = {bytes / 4}, .role = Role::kActivation});
  };
  const TensorId kept = tensor("kept", 100 * kMiB), other = tensor("other", 100 * kMiB), end = tensor("end", kMiB);
  graph.add_op({.name = "make", .kind = OpKind::kRelu, .outputs = {kept}});
  graph.add_op({.name = "crowd", .kind = OpKind::kRelu, .outputs = {other}});
  graph.add_op({.name = "use", .kind = OpKind::kRelu, .inputs = {kept}, .outputs = {end}});
  const Profile profile{.op_seconds = {1e-3, 1e-3, 1e-3}};
  Machine machine = disk_machine(1);
  for (Link& link : machine.links) link = {.from = link.from, .to = link.to, .bandwidth = 1e9};
  const CostModel costs(graph, profile, machine);
  // Room too dear to stay: all of it pays for going out before the op and coming back behind it, and `other` for the
  // room.
  const StepPrices dear{{0, 1e-6, 0}, {{0, 0}, {1, 0}, {0, 0}}, {{1, 0}, {0, 1}, {1, 0}, {1, 0}}};
  const BoundedStep step{graph, profile.op_seconds, two_way_link(costs, machine), 100 * kMiB};
  EXPECT_NEAR(certified_seconds(step, dear).value(), 2e-3 + 2 * (100.0 * kMiB) / 1e9, 1e-6);
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
  Plan plan = make_plan("sentinel", request).value();
  certify(problem.graph, problem.profile, problem.machine, plan, 10);
  ASSERT_TRUE(plan.prices);
  EXPECT_DOUBLE_EQ(bound_by_prices(problem.graph, problem.profile, problem.machine, plan).value(),
                   plan.order_bound_seconds);
  const Worth worth = worth_by_prices(problem.graph, problem.profile, problem.machine, plan).value();
  EXPECT_GT(worth.per_mib, 0);
  EXPECT_GT(worth.per_tenth_of_speed, 0);
  EXPECT_FALSE(worth.dearest.empty());
  const CostModel costs(problem.graph, problem.profile, problem.machine);
  const auto bound_with = [&](Bytes more) {
    std::vector<Bytes> budgets = request.budgets;
    budgets[kFastTier] += more;
    return certified_bound(problem.graph, costs, problem.machine, budgets, false, 10)->seconds;
  };
  const double rounding = 1e-6 * plan.order_bound_seconds;
  EXPECT_LE(plan.order_bound_seconds - bound_with(kMiB), worth.per_mib + rounding);
  EXPECT_GE(bound_with(-kMiB) - plan.order_bound_seconds, worth.per_mib - rounding);
}

TEST(CertifiedBound, PricesOfAnotherStepProveNothing) {
  const PlanningProblem problem(merged_model("resnet20", 16, 32), "file", 3e8);
  Plan plan = make_plan("sentinel", problem.request(0.4)).value();
  certify(problem.graph, problem.profile, problem.machine, plan, 10);
  ASSERT_TRUE(plan.prices);
  const auto refused = [&](auto change) {
    Plan changed = plan;
    change(*changed.prices);
    const auto bound = bound_by_prices(problem.graph, problem.profile, problem.machine, changed);
    return !bound.ok() && bound.error().code == ErrorCode::kBadInput;
  };
  EXPECT_TRUE(refused([](StepPrices& prices) { prices.room.pop_back(); }));
  EXPECT_TRUE(refused([](StepPrices& prices) { prices.stall.push_back({0, 0}); }));
  EXPECT_TRUE(refused([](StepPrices& prices) { prices.room[3] = -1e-12; }));
  EXPECT_TRUE(refused([](StepPrices& prices) { prices.run[3] = {0.7, 0.4}; }));
  EXPECT_TRUE(refused([](StepPrices& prices) { prices.room[3] = std::numeric_limits<double>::infinity(); }));
  EXPECT_TRUE(refused([](StepPrices& prices) { prices.room[3] = std::nan(""); }));
  EXPECT_TRUE(refused([](StepPrices& prices) { prices.room[3] = 1e305; }));
  plan.prices.reset();
  EXPECT_EQ(bound_by_prices(problem.graph, problem.profile, problem.machine, plan).error().code,
            ErrorCode::kUnsupported);
}

// A value that is written anew before anybody reads it again takes no room until then.
TEST(CertifiedBound, AsksNothingForWhatIsWrittenAnew) {
  Graph graph;
  const auto tensor = [&](const char* name) {
    return graph.add_tensor({.name = name, .shape = {25 * kMiB}, .role = Role::kActivation});
  };
  const TensorId scratch = tensor("scratch"), other = tensor("other");
  for (const TensorId made : {scratch, other, scratch}) {
    graph.add_op({.name = graph.tensor(made).name, .kind = OpKind::kRelu, .outputs = {made}});
  }
  const Profile profile{.op_seconds = {1e-3, 1e-3, 1e-3}};
  const Machine machine = disk_machine(1);
  const CostModel costs(graph, profile, machine);
  const std::vector<Bytes> budgets{100 * kMiB, kGiB};
  StepPrices prices{{0, 1e-9, 0}, {{0, 0}, {0, 0}, {0, 0}}, {{1, 0}, {1, 0}, {1, 0}, {1, 0}}};
  const BoundedStep step{graph, profile.op_seconds, two_way_link(costs, machine), budgets[kFastTier]};
  EXPECT_NEAR(certified_seconds(step, prices).value(), 3e-3, 1e-9) << "other pays for all of the room";
}

// A step of ops that read `inputs` and make `output`, with slow memory that reads and writes 1 GB/s in place.
class InPlaceStep {
 public:
  InPlaceStep() {
    machine = disk_machine(1);
    for (Link& link : machine.links) link = {.from = link.from, .to = link.to, .bandwidth = 1e9};
    machine.tiers[1] = {.name = "memory", .kind = TierKind::kEmulated, .capacity = kGiB};
    machine.tiers[1].read_bandwidth = machine.tiers[1].write_bandwidth = 1e9;
  }

  TensorId tensor(const char* name, Bytes bytes, Role role = Role::kActivation) {
    return graph.add_tensor({.name = name, .shape = {bytes / 4}, .role = role});
  }
  void op(std::vector<TensorId> inputs, std::vector<TensorId> outputs, Seconds seconds) {
    graph.add_op({.name = "op", .kind = OpKind::kRelu, .inputs = std::move(inputs), .outputs = std::move(outputs)});
    profile.op_seconds.push_back(seconds);
  }
  StepPrices prices() const {
    const auto ops = graph.ops().size();
    return {std::vector<double>(ops, 0), std::vector<SlotPrice>(ops, SlotPrice{0, 0}),
            std::vector<SlotPrice>(ops + 1, SlotPrice{1, 0}), std::vector<double>(ops, 0)};
  }
  Seconds certified(const StepPrices& prices, Bytes fast) const {
    const CostModel costs(graph, profile, machine);
    const auto in_place = in_place_costs(graph, costs, machine);
    BoundedStep step{graph, profile.op_seconds, two_way_link(costs, machine), fast};
    step.in_place = in_place;
    return certified_seconds(step, prices).value();
  }
  Seconds bound(Bytes fast) const {
    const std::vector<Bytes> budgets{fast, kGiB};
    return certified_bound(graph, CostModel(graph, profile, machine), machine, budgets, false, 5)->seconds;
  }

  Graph graph;
  Profile profile;
  Machine machine;
};

// Each of two weights could be read while the op runs, both cannot: 200 MB at 1 GB/s beside 0.15 s.
TEST(CertifiedBound, ReadingInPlaceHidesBehindTheOpOnce) {
  InPlaceStep step;
  const TensorId a = step.tensor("a", 100'000'000, Role::kParameter);
  const TensorId b = step.tensor("b", 100'000'000, Role::kParameter);
  step.op({a, b}, {}, 0.15);
  StepPrices prices = step.prices();
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
  const TensorId a = step.tensor("a", 100'000'000);
  step.op({}, {a}, 0.2);
  StepPrices prices = step.prices();
  prices.room = {1e-6};
  EXPECT_NEAR(step.certified(prices, 0), 0.3, 1e-9);
  EXPECT_NEAR(step.bound(0), 0.3, 1e-6);
  EXPECT_NEAR(step.bound(100'000'000), 0.2, 1e-6);
}

// What is written in slow memory is there alone: it comes anew for an op that needs it in fast memory.
TEST(CertifiedBound, WhatIsWrittenInPlaceHasNoOtherCopy) {
  InPlaceStep step;
  const TensorId weight = step.tensor("weight", 100'000'000, Role::kParameter);
  step.op({weight}, {}, 0.01);
  step.op({weight}, {weight}, 0.01);
  step.op({weight}, {}, 0.01);
  StepPrices prices = step.prices();
  // Room is dear while the second op runs, and links cost nothing while ops run: it leaves beside the first one.
  prices.room = {0, 1e-6, 0};
  prices.reading = {1, 1, 1};
  // The second op reads and writes 100 MB in place. Then as much comes in a stall, or is read in place once more.
  EXPECT_NEAR(step.certified(prices, 0), 0.1 + 0.1 + 0.1, 1e-6);
}

// Op 0 reads `weight` in slow memory; meanwhile that is copied, and op 1 finds it in fast memory. Nobody waits.
TEST(CertifiedBound, AllowsToComeWhileAnOpReadsInPlace) {
  InPlaceStep step;
  const TensorId weight = step.tensor("weight", 100 * kMiB, Role::kParameter);
  const TensorId crowd = step.tensor("crowd", 100 * kMiB), end = step.tensor("end", kMiB);
  step.op({weight}, {crowd}, 0.2);
  step.op({weight}, {end}, 0.01);
  PlanBuilder builder(step.graph, step.machine);
  const ResidencyIndex home = builder.add_residency(weight, 1, {0, 2});
  const ResidencyIndex there = builder.add_residency(weight, kFastTier, {0, 2});
  builder.add_residency(crowd, kFastTier, {0, 1});
  builder.add_residency(end, kFastTier, {1, 2});
  builder.set_tensor_tier(0, weight, 1);
  builder.add_migration(weight, home, there, kStepStart, 1);
  const std::vector<Bytes> budgets{201 * kMiB, kGiB};
  const Plan plan = builder.finish(budgets).value();
  ASSERT_THAT(verify_plan(step.graph, step.machine, plan), ::testing::IsEmpty());
  const CostModel costs(step.graph, step.profile, step.machine);
  const Seconds taken = simulate(lower_plan(step.graph, step.machine, plan).value(), costs).step_seconds;
  EXPECT_NEAR(taken, 0.21, 1e-6);
  EXPECT_LE(step.bound(100 * kMiB), taken);
  // At prices that ask for the second's way in everywhere but while op 0 runs.
  StepPrices prices = step.prices();
  prices.room = {1e-7, 0};
  prices.reading = {0, 1};
  EXPECT_LE(step.certified(prices, 100 * kMiB), taken);
}

TEST(CertifiedBound, SaysNothingOfMachinesThatItDoesNotReckonWith) {
  const Graph graph = random_graph(1);
  const Profile profile = times_of(graph, 1);
  Machine machine = disk_machine(1);
  const std::vector<Bytes> budgets{kMiB, kGiB};
  machine.links[1].bandwidth = 0;
  EXPECT_FALSE(certified_bound(graph, CostModel(graph, profile, machine), machine, budgets, false, 1));
}

}  // namespace
}  // namespace sluice
