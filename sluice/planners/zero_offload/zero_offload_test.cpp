#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/graph/builder.hpp"
#include "sluice/graph/op_traits.hpp"
#include "sluice/graph/rewrite/prepare.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/memory/processors.hpp"
#include "sluice/models/model.hpp"
#include "sluice/plan/plan_graph.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/zero_offload/strategy.hpp"
#include "sluice/program/program.hpp"
#include "sluice/testing/program_oracle.hpp"

namespace sluice {
namespace {

using ::testing::HasSubstr;

// Of `depth` products a layer.
Graph network(Precision precision, const OptimizerOptions& optimizer, int depth = 1, std::int64_t batch = 4) {
  GraphBuilder builder("net");
  builder.begin_layer("input");
  TensorId x = builder.input(batch, 64, 1, 1, 32);
  x = builder.reshape(x, {batch, 64});
  for (const char* name : {"first", "second", "third"}) {
    builder.begin_layer(name);
    for (int i = 0; i < depth; ++i) x = builder.relu(builder.dense(x, 64, false));
  }
  builder.begin_layer("head");
  builder.softmax_cross_entropy(builder.dense(x, 32, false));
  return prepare_training_graph(std::move(builder.finish()).value(), optimizer, precision);
}
Graph network(Precision precision, Optimizer optimizer, int depth = 1, std::int64_t batch = 4) {
  return network(precision, OptimizerOptions{.optimizer = optimizer}, depth, batch);
}

constexpr Bytes kElements = 3 * 64 * 64 + 32 * 64;  // "M"

std::vector<StateNode> on_host(const Assignment& assignment) {
  std::vector<StateNode> nodes;
  for (std::size_t node = 0; node < kStateNodes; ++node) {
    if (assignment.on_host[node]) nodes.push_back(static_cast<StateNode>(node));
  }
  return nodes;
}

TEST(OffloadStrategies, AreThoseOfTable51) {
  using enum StateNode;
  const auto rows = offload_strategies(state_flow(network(Precision::kBF16Masters, Optimizer::kAdam)));
  ASSERT_EQ(rows.size(), 4u);
  const std::vector<std::vector<StateNode>> nodes{
      {}, {kGradients}, {kMasters, kMoments, kUpdate}, {kGradients, kMasters, kMoments, kUpdate}};
  const std::vector<Bytes> left{16, 14, 4, 2};  // of each parameter
  for (std::size_t row = 0; row < 4; ++row) {
    EXPECT_EQ(on_host(rows[row]), nodes[row]) << row;
    EXPECT_EQ(rows[row].device_bytes, left[row] * kElements) << row;
    EXPECT_EQ(rows[row].volume, row == 0 ? 0 : 4 * kElements) << row;
  }
}

TEST(OffloadStrategies, SendLessWhereOnlyGradientsLeaveInFp32) {
  const auto rows = offload_strategies(state_flow(network(Precision::kF32, Optimizer::kAdam)));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(on_host(rows.back()), std::vector{StateNode::kGradients});
  EXPECT_EQ(rows.back().volume, 8 * kElements);
}

// Gradients leave for each of k batches, parameters come back once.
TEST(OffloadStrategies, SendGradientsOfEveryBatch) {
  const Graph graph =
      network(Precision::kBF16Masters, OptimizerOptions{.optimizer = Optimizer::kAdam, .accumulate = 3});
  const auto rows = offload_strategies(state_flow(graph));
  EXPECT_EQ(rows.front().device_bytes, 20 * kElements) << "with sums in fp32";
  EXPECT_EQ(rows.back().device_bytes, 2 * kElements) << "parameters alone";
  EXPECT_EQ(rows.back().volume, 2 * (3 + 1) * kElements);
}

// The whole parameters stay; of gradients, and of what the optimizer keeps, a rank has its part.
TEST(OffloadStrategies, SendARanksPartAlone) {
  const Graph graph = network(Precision::kBF16Masters, OptimizerOptions{.optimizer = Optimizer::kAdam, .ranks = 4});
  const auto rows = offload_strategies(state_flow(graph));
  EXPECT_EQ(rows.front().device_bytes, (2 + 14 / 4.0) * kElements);
  EXPECT_EQ(rows.back().device_bytes, 2 * kElements);
  EXPECT_EQ(rows.back().volume, kElements) << "a quarter of 4";
}

struct Problem {
  Graph graph;
  Machine machine = make_machine({.threads = 1, .slow = {{"pcie3", kGiB}}}).value();
  Profile profile;

  explicit Problem(Precision precision, Optimizer optimizer = Optimizer::kAdam)
      : Problem(network(precision, optimizer)) {}
  explicit Problem(Graph step) : graph(std::move(step)) {
    EXPECT_TRUE(add_processors({{"device", 1, {}}, {"host", 1, {"pcie3"}}}, machine).ok());
    profile.op_seconds.assign(graph.ops().size(), 1e-4);
  }

  Result<Plan> plan(Bytes fast, std::string_view planner = "zero-offload") const {
    return make_plan(planner, {.graph = graph, .profile = profile, .machine = machine, .budgets = {fast, kGiB}});
  }
};

// What stays in the fast tier between steps.
Bytes fast_at_start(const Graph& graph, const Plan& plan) {
  Bytes bytes = 0;
  for (const Residency& each : plan.residencies) {
    const Tensor& tensor = graph.tensor(each.tensor);
    if (each.tier == kFastTier && each.ops.begin == 0 && is_persistent(tensor.role)) bytes += tensor.bytes;
  }
  return bytes;
}

TEST(ZeroOffload, KeepsParametersOnTheDeviceAndTheRestOnTheHost) {
  for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kAdamW}) {
    const Problem problem(Precision::kBF16Masters, optimizer);
    const Result<Plan> plan = problem.plan(kGiB);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(fast_at_start(problem.graph, *plan), 2 * kElements);
    Bytes moved = 0;
    for (const Migration& each : plan->migrations) moved += problem.graph.tensor(each.tensor).bytes;
    EXPECT_EQ(moved, 4 * kElements);
    for (std::size_t slot = 0; slot < plan->ops.size(); ++slot) {
      const std::size_t op = plan->schedule.empty() ? slot : static_cast<std::size_t>(plan->schedule[slot]);
      const bool update = problem.graph.op(static_cast<OpIndex>(op)).phase == Phase::kUpdate;
      EXPECT_EQ(plan->ops[static_cast<OpIndex>(slot)].processor, update ? 1 : 0);
    }
  }
}

std::string config_of(const Plan& plan, const std::string& name) {
  const auto found = std::ranges::find(plan.planner_config, name, &std::pair<std::string, std::string>::first);
  return found == plan.planner_config.end() ? "" : found->second;
}

TEST(ZeroOffload, SaysWhatAParameterTakesOfHostAndLink) {
  const Problem problem(Precision::kBF16Masters, Optimizer::kAdam);
  const Plan plan = problem.plan(kGiB).value();
  EXPECT_EQ(config_of(plan, "link_bytes_per_parameter"), "4.00");
  const double held = std::stod(config_of(plan, "host_bytes_per_parameter"));
  EXPECT_GE(held, 14) << "gradient, master and moments";
  EXPECT_LE(held, 16.01) << "and the new parameter until it has left";
}

TEST(ZeroOffload, AddsUpGradientsOfSeveralBatchesOnTheHost) {
  const Problem problem(
      network(Precision::kBF16Masters, OptimizerOptions{.optimizer = Optimizer::kAdam, .accumulate = 3}));
  const Result<Plan> plan = problem.plan(kGiB);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(config_of(*plan, "link_bytes_per_parameter"), "8.00");
  EXPECT_LE(std::stod(config_of(*plan, "host_bytes_per_parameter")), 20.01) << "no more gradients than one batch's";
}

TEST(ZeroOffload, GivesTheHostARanksPart) {
  for (const Precision precision : {Precision::kF32, Precision::kBF16Masters}) {
    const Problem problem(
        network(precision, OptimizerOptions{.optimizer = Optimizer::kAdam, .clip_norm = 1, .ranks = 4}));
    const Result<Plan> plan = problem.plan(kGiB);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    Bytes moved = 0;
    for (const Migration& each : plan->migrations) moved += problem.graph.tensor(each.tensor).bytes;
    EXPECT_EQ(moved, (precision == Precision::kF32 ? 12 : 4) * kElements / 4);
  }
}

TEST(ZeroOffload, LetsTheNetworkSpeakBesideThePasses) {
  Problem problem(network(Precision::kBF16Masters, OptimizerOptions{.optimizer = Optimizer::kAdam, .ranks = 4}));
  problem.machine = make_machine({.threads = 1, .slow = {{"pcie3", kGiB}}}).value();
  ASSERT_TRUE(add_processors({{"device", 1, {}}, {"host", 1, {"pcie3"}}, {"network", 1, {}}}, problem.machine).ok());
  const Result<Plan> plan = problem.plan(kGiB);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  int collectives = 0;
  for (std::size_t slot = 0; slot < plan->ops.size(); ++slot) {
    const Op& op = problem.graph.op(plan->schedule.empty() ? static_cast<OpIndex>(slot) : plan->schedule[slot]);
    EXPECT_EQ(plan->ops[static_cast<OpIndex>(slot)].processor == 2, is_collective(op)) << op.name;
    collectives += is_collective(op) ? 1 : 0;
  }
  EXPECT_GT(collectives, 0);
}

// Else whoever had a parameter's room meanwhile would hold up its return.
TEST(ZeroOffload, KeepsAParametersRoomWhileTheHostUpdatesIt) {
  const Problem problem(Precision::kBF16Masters);
  const Plan plan = problem.plan(kGiB).value();
  for (const Migration& each : plan.migrations) {
    if (each.cause != Cause::kUpdatedElsewhere) continue;
    const Residency& back = plan.residencies[each.to];
    const bool kept = std::ranges::any_of(plan.residencies, [&](const Residency& other) {
      return other.tensor == each.tensor && other.offset == back.offset && other.ops.begin == 0 &&
             other.ops.end == back.ops.begin;
    });
    EXPECT_TRUE(kept) << problem.graph.tensor(each.tensor).name;
  }
}

TEST(ZeroOffload, MovesFp32ParametersThereAndBack) {
  const Problem problem(Precision::kF32);
  const Result<Plan> plan = problem.plan(kGiB);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  Bytes moved = 0;
  for (const Migration& each : plan->migrations) moved += problem.graph.tensor(each.tensor).bytes;
  EXPECT_EQ(moved, 12 * kElements);
}

TEST(ZeroOffload, TakesLessOfTheDeviceWithCheckpoints) {
  const Problem problem(network(Precision::kBF16Masters, Optimizer::kAdam, 4, 256));
  const Result<Plan> all = problem.plan(kGiB), again = problem.plan(kGiB, "zero-offload:checkpoints=1");
  ASSERT_TRUE(all.ok() && again.ok());
  EXPECT_LT(again->arena_bytes[0], all->arena_bytes[0]);
  EXPECT_GT(again->ops.size(), all->ops.size());
}

TEST(ZeroOffload, MakesAgainInEveryBatch) {
  const auto arena = [](int batches) {
    const OptimizerOptions optimizer{.optimizer = Optimizer::kAdam, .accumulate = batches};
    const Problem problem(network(Precision::kBF16Masters, optimizer, 4, 256));
    return problem.plan(kGiB, "zero-offload:checkpoints=1").value().arena_bytes[0];
  };
  EXPECT_LT(static_cast<double>(arena(3)), 1.1 * static_cast<double>(arena(1)));
}

TEST(ZeroOffload, BringsParametersBackInTimeForASecondLoss) {
  const Problem problem(build_training_model("dcgan", {.batch = 2, .image_size = 16, .width = 4}).value());
  const Result<Plan> plan = problem.plan(kGiB);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_TRUE(plan->schedule.empty()) << "updates stay where the graph has them";
  const auto early = std::ranges::any_of(plan->migrations, [&](const Migration& each) {
    return each.cause == Cause::kUpdatedElsewhere && each.needed_by < problem.graph.op_count();
  });
  EXPECT_TRUE(early);
}

// Of a machine with a file behind the host's memory.
struct FiledProblem : Problem {
  explicit FiledProblem(Graph step) : Problem(std::move(step)) {
    machine = make_machine({.threads = 1, .slow = {{"pcie3", kGiB}, {"file", kGiB}}}).value();
    EXPECT_TRUE(add_processors({{"device", 1, {}}, {"host", 1, {"pcie3"}}}, machine).ok());
  }
  Result<Plan> plan(Bytes host) const {
    return make_plan("zero-offload",
                     {.graph = graph, .profile = profile, .machine = machine, .budgets = {kGiB, host, kGiB}});
  }
};

// What else a step may have that keeps something on the host.
std::vector<OptimizerOptions> ways_to_update() {
  const OptimizerOptions adam{.optimizer = Optimizer::kAdam};
  std::vector<OptimizerOptions> ways(6, adam);
  ways[1].clip_norm = 1;
  ways[2].accumulate = 3;
  ways[3].ranks = 4;
  ways[4].delayed = true;
  ways[5] = {.optimizer = Optimizer::kAdam, .delayed = true, .clip_norm = 1, .accumulate = 2};
  return ways;
}

TEST(StatesBehindTheHost, LeaveThePlanAloneWhereTheHostHoldsThem) {
  const Graph graph = network(Precision::kBF16Masters, Optimizer::kAdam);
  const Plan one = Problem(graph).plan(kGiB).value(), two = FiledProblem(graph).plan(kGiB).value();
  EXPECT_EQ(two.arena_bytes[2], 0);
  EXPECT_EQ(one.residencies, two.residencies);
  EXPECT_EQ(one.migrations, two.migrations);
  EXPECT_EQ(config_of(two, "on_file"), "");
}

TEST(StatesBehindTheHost, KeepItsLimitAndCrossTheDevicesLinkNoMoreThanBefore) {
  for (const OptimizerOptions& way : ways_to_update()) {
    const FiledProblem problem(network(Precision::kBF16Masters, way, 2));
    const Plan all = problem.plan(kGiB).value();
    int planned = 0;
    for (const double share : {0.9, 0.7, 0.5, 0.35, 0.2}) {
      const Bytes host =
          align_down(static_cast<Bytes>(share * static_cast<double>(all.arena_bytes[1])), kTensorAlignment);
      const Result<Plan> plan = problem.plan(host);
      if (!plan.ok()) {
        EXPECT_THAT(plan.error().message, HasSubstr("--finer-slices"));
        continue;
      }
      ++planned;
      EXPECT_LE(plan->arena_bytes[1], host);
      EXPECT_GT(plan->arena_bytes[2], 0);
      EXPECT_EQ(config_of(*plan, "link_bytes_per_parameter"), config_of(all, "link_bytes_per_parameter"));
      const Program program = lower_plan(problem.graph, problem.machine, *plan).value();
      EXPECT_EQ(testing::find_race(PlanGraph(problem.graph, *plan).graph(), program, 1), std::nullopt);
    }
    EXPECT_GE(planned, 2) << "delay " << way.delayed << ", clip " << way.clip_norm << ", " << way.accumulate
                          << " batches, " << way.ranks << " ranks";
  }
}

// Masters and moments, 12 bytes a parameter, are read and written in a step.
TEST(StatesBehindTheHost, AreReadAndWrittenOnceAStep) {
  const FiledProblem problem(network(Precision::kBF16Masters, Optimizer::kAdam, 3));
  const Bytes all = problem.plan(kGiB).value().arena_bytes[1];
  const Plan plan = problem.plan(align_down(all * 45 / 100, kTensorAlignment)).value();
  Bytes read = 0, written = 0, filed = 0;
  for (const Migration& each : plan.migrations) {
    const Bytes bytes = problem.graph.tensor(each.tensor).bytes;
    if (plan.residencies[each.from].tier == 2) read += bytes;
    if (plan.residencies[each.to].tier == 2) written += bytes;
  }
  for (const Residency& each : plan.residencies) filed += each.tier == 2 ? problem.graph.tensor(each.tensor).bytes : 0;
  EXPECT_GT(filed, all / 2);
  EXPECT_EQ(read, filed);
  EXPECT_EQ(written, filed);
  EXPECT_EQ(config_of(plan, "on_file").substr(0, 5), format_bytes(filed).substr(0, 5));
}

// Where reads, updates and writes take about as long, all three together take little longer than one of them.
TEST(StatesBehindTheHost, AreReadUpdatedAndWrittenAtOnce) {
  constexpr BytesPerSecond kFile = 5e8;
  constexpr Seconds kUpdate = 1e-4;
  FiledProblem problem(network(Precision::kBF16Masters, Optimizer::kAdam, 4));
  for (Link& link : problem.machine.links) {
    link = {.from = link.from, .to = link.to, .bandwidth = joins_slow_tiers(link) ? kFile : 1e12};
  }
  Seconds updates = 0;
  for (OpIndex op = 0; op < problem.graph.op_count(); ++op) {
    const bool update = is_update(problem.graph.op(op).kind);
    problem.profile.op_seconds[static_cast<std::size_t>(op)] = update ? kUpdate : 1e-8;
    updates += update ? kUpdate : 0;
  }
  const Bytes all = problem.plan(kGiB).value().arena_bytes[1];
  const Plan plan = problem.plan(align_down(all * 45 / 100, kTensorAlignment)).value();
  Seconds files = 0;
  for (const Migration& each : plan.migrations) {
    const bool filed = plan.residencies[each.from].tier + plan.residencies[each.to].tier == 3;
    files += filed ? static_cast<double>(problem.graph.tensor(each.tensor).bytes) / kFile : 0;
  }
  EXPECT_GT(files, updates);
  EXPECT_LT(plan.predicted_step_seconds, 0.55 * (files + updates));
}

TEST(StatesBehindTheHost, NeedAFile) {
  const Problem problem(network(Precision::kBF16Masters, Optimizer::kAdam, 3));
  const Result<Plan> plan = make_plan(
      "zero-offload",
      {.graph = problem.graph, .profile = problem.profile, .machine = problem.machine, .budgets = {kGiB, 400 * kKiB}});
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().message, HasSubstr("name a further one with --slow"));
}

TEST(ZeroOffload, SaysWhatItNeeds) {
  Problem problem(Precision::kBF16Masters);
  EXPECT_THAT(problem.plan(16 * kKiB).error().message, HasSubstr("the smallest budget it can use is"));
  problem.machine = make_machine({.threads = 1, .slow = {{"pcie3", kGiB}}}).value();
  EXPECT_THAT(problem.plan(kGiB).error().message, HasSubstr("--slow pcie3 --processors device:1:dram,host:1:pcie3"));
}

}  // namespace
}  // namespace sluice
