#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/memory/processors.hpp"
#include "sluice/models/model.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/registry/advice.hpp"
#include "sluice/planners/registry/offload_for_tests.hpp"
#include "sluice/planners/zero_offload/strategy.hpp"

namespace sluice::planners {
namespace {

using testing::config_of;
using ::testing::HasSubstr;
using testing::kElements;
using testing::offload_network;
using testing::OffloadProblem;

std::vector<StateNode> on_host(const Assignment& assignment) {
  std::vector<StateNode> nodes;
  for (std::size_t node = 0; node < kStateNodes; ++node) {
    if (assignment.on_host[node]) nodes.push_back(static_cast<StateNode>(node));
  }
  return nodes;
}

TEST(OffloadStrategies, AreThoseOfTable51) {
  using enum StateNode;
  const auto rows =
      offload_strategies(state_flow(offload_network(graph::Precision::kBF16Masters, graph::Optimizer::kAdam)));
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
  const auto rows = offload_strategies(state_flow(offload_network(graph::Precision::kF32, graph::Optimizer::kAdam)));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(on_host(rows.back()), std::vector{StateNode::kGradients});
  EXPECT_EQ(rows.back().volume, 8 * kElements);
}

// Gradients leave for each of k batches, parameters come back once.
TEST(OffloadStrategies, SendGradientsOfEveryBatch) {
  const graph::Graph graph = offload_network(
      graph::Precision::kBF16Masters, graph::OptimizerOptions{.optimizer = graph::Optimizer::kAdam, .accumulate = 3});
  const auto rows = offload_strategies(state_flow(graph));
  EXPECT_EQ(rows.front().device_bytes, 20 * kElements) << "with sums in fp32";
  EXPECT_EQ(rows.back().device_bytes, 2 * kElements) << "parameters alone";
  EXPECT_EQ(rows.back().volume, 2 * (3 + 1) * kElements);
}

// The whole parameters stay; of gradients, and of what the optimizer keeps, a rank has its part.
TEST(OffloadStrategies, SendARanksPartAlone) {
  const graph::Graph graph = offload_network(graph::Precision::kBF16Masters,
                                             graph::OptimizerOptions{.optimizer = graph::Optimizer::kAdam, .ranks = 4});
  const auto rows = offload_strategies(state_flow(graph));
  EXPECT_EQ(rows.front().device_bytes, (2 + 14 / 4.0) * kElements);
  EXPECT_EQ(rows.back().device_bytes, 2 * kElements);
  EXPECT_EQ(rows.back().volume, kElements) << "a quarter of 4";
}

// What stays in the fast tier between steps.
Bytes fast_at_start(const graph::Graph& graph, const plan::Plan& plan) {
  Bytes bytes = 0;
  for (const plan::Residency& each : plan.residencies) {
    const graph::Tensor& tensor = graph.tensor(each.tensor);
    if (each.tier == memory::kFastTier && each.ops.begin == 0 && is_persistent(tensor.role)) bytes += tensor.bytes;
  }
  return bytes;
}

TEST(ZeroOffload, KeepsParametersOnTheDeviceAndTheRestOnTheHost) {
  for (const graph::Optimizer optimizer : {graph::Optimizer::kSgd, graph::Optimizer::kAdamW}) {
    const OffloadProblem problem(graph::Precision::kBF16Masters, optimizer);
    const Result<plan::Plan> plan = problem.plan(kGiB);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(fast_at_start(problem.graph, *plan), 2 * kElements);
    Bytes moved = 0;
    for (const plan::Migration& each : plan->migrations) moved += problem.graph.tensor(each.tensor).bytes;
    EXPECT_EQ(moved, 4 * kElements);
    for (std::size_t slot = 0; slot < plan->ops.size(); ++slot) {
      const std::size_t op = plan->schedule.empty() ? slot : as_index(plan->schedule[slot]);
      const bool update = problem.graph.op(as_id<graph::OpIndex>(op)).phase == graph::Phase::kUpdate;
      EXPECT_EQ(plan->ops[as_id<graph::OpIndex>(slot)].processor, update ? 1 : 0);
    }
  }
}

TEST(ZeroOffload, SaysWhatAParameterTakesOfHostAndLink) {
  const OffloadProblem problem(graph::Precision::kBF16Masters, graph::Optimizer::kAdam);
  const plan::Plan plan = problem.plan(kGiB).value();
  EXPECT_EQ(config_of(plan, "link_bytes_per_parameter"), "4.00");
  const double held = std::stod(config_of(plan, "host_bytes_per_parameter"));
  EXPECT_GE(held, 14) << "gradient, master and moments";
  EXPECT_LE(held, 16.01) << "and the new parameter until it has left";
}

TEST(ZeroOffload, AddsUpGradientsOfSeveralBatchesOnTheHost) {
  const OffloadProblem problem(offload_network(
      graph::Precision::kBF16Masters, graph::OptimizerOptions{.optimizer = graph::Optimizer::kAdam, .accumulate = 3}));
  const Result<plan::Plan> plan = problem.plan(kGiB);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(config_of(*plan, "link_bytes_per_parameter"), "8.00");
  EXPECT_LE(std::stod(config_of(*plan, "host_bytes_per_parameter")), 20.01) << "no more gradients than one batch's";
}

// Elements of the parameters that the host updates, of all.
double updated_by_host(const OffloadProblem& problem, const plan::Plan& plan) {
  double all = 0, of_host = 0;
  for (std::size_t slot = 0; slot < plan.ops.size(); ++slot) {
    const graph::Op& op = problem.graph.op(plan.schedule.empty() ? as_id<graph::OpIndex>(slot) : plan.schedule[slot]);
    if (!graph::is_update(op.kind)) continue;
    const auto elements = static_cast<double>(graph::element_count(problem.graph.tensor(op.inputs[0]).shape));
    all += elements;
    of_host += plan.ops[as_id<graph::OpIndex>(slot)].processor == 1 ? elements : 0;
  }
  return of_host / all;
}

TEST(ZeroOffload, LeavesTheDeviceWhatItsShareLeaves) {
  for (const int accumulate : {1, 3}) {
    const OffloadProblem problem(
        offload_network(graph::Precision::kBF16Masters,
                        graph::OptimizerOptions{.optimizer = graph::Optimizer::kAdam, .accumulate = accumulate}, 4));
    double before = 1, link = 1e9;
    for (const int share : {100, 75, 50, 25, 0}) {
      const Result<plan::Plan> plan = problem.plan(kGiB, "zero-offload:share=" + std::to_string(share));
      ASSERT_TRUE(plan.ok()) << plan.error().message;
      const double part = updated_by_host(problem, *plan);
      EXPECT_LE(part, share / 100.0) << share;
      EXPECT_GT(part, share / 100.0 - 0.1) << share << ": a product's weights are a twelfth of all";
      EXPECT_LE(part, before);
      const double bytes = std::stod(config_of(*plan, "link_bytes_per_parameter"));
      EXPECT_LT(bytes, link) << "what stays need not cross the link";
      before = part;
      link = bytes;
    }
  }
}

// Gradients of the first layers come last, and nothing is left to hide their updates behind.
TEST(ZeroOffload, LeavesTheDeviceTheFirstLayers) {
  const OffloadProblem problem(graph::Precision::kBF16Masters);
  const plan::Plan plan = problem.plan(kGiB, "zero-offload:share=60").value();
  for (std::size_t slot = 0; slot < plan.ops.size(); ++slot) {
    const graph::Op& op = problem.graph.op(plan.schedule.empty() ? as_id<graph::OpIndex>(slot) : plan.schedule[slot]);
    if (!graph::is_update(op.kind)) continue;
    const bool early = op.name.starts_with("first") || op.name.starts_with("second");
    EXPECT_EQ(plan.ops[as_id<graph::OpIndex>(slot)].processor, early ? 0 : 1) << op.name;
  }
}

TEST(ZeroOffload, NamesAnOpThatTheHostHasNoKernelFor) {
  OffloadProblem problem(graph::Precision::kBF16Masters);
  const auto update =
      std::ranges::find_if(problem.graph.ops(), [](const graph::Op& op) { return graph::is_update(op.kind); });
  problem.graph.op(as_id<graph::OpIndex>(update - problem.graph.ops().begin())).no_kernel_on = {1};
  const Result<plan::Plan> refused = problem.plan(kGiB);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("'host' has no kernel for " + update->name));
}

// Each takes the room that a gradient has left. Parts of 2 KiB take 4 here, so 16 bytes a parameter are the least, and
// rooms of their own would make it 20.
TEST(ZeroOffload, NeedsNoMoreOfTheHostForPartsThatWaitForTheDevice) {
  const OffloadProblem problem(offload_network(
      graph::Precision::kBF16Masters, graph::OptimizerOptions{.optimizer = graph::Optimizer::kAdam, .ranks = 4}, 4));
  const plan::Plan plan = problem.plan(kGiB).value();
  EXPECT_LE(std::stod(config_of(plan, "host_bytes_per_parameter")), 17.5);
}

TEST(ZeroOffload, SharesNoUpdatesThatReadOneFactor) {
  const OffloadProblem problem(offload_network(
      graph::Precision::kBF16Masters, graph::OptimizerOptions{.optimizer = graph::Optimizer::kAdam, .clip_norm = 1}));
  const Result<plan::Plan> refused = problem.plan(kGiB, "zero-offload:share=50");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("--clip-norm"));
  EXPECT_TRUE(problem.plan(kGiB, "zero-offload:share=100").ok());
}

TEST(ZeroOffload, GivesTheHostARanksPart) {
  for (const graph::Precision precision : {graph::Precision::kF32, graph::Precision::kBF16Masters}) {
    const OffloadProblem problem(offload_network(
        precision, graph::OptimizerOptions{.optimizer = graph::Optimizer::kAdam, .clip_norm = 1, .ranks = 4}));
    const Result<plan::Plan> plan = problem.plan(kGiB);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    Bytes moved = 0;
    for (const plan::Migration& each : plan->migrations) moved += problem.graph.tensor(each.tensor).bytes;
    EXPECT_EQ(moved, (precision == graph::Precision::kF32 ? 12 : 4) * kElements / 4);
  }
}

TEST(ZeroOffload, LetsTheNetworkSpeakBesideThePasses) {
  OffloadProblem problem(offload_network(graph::Precision::kBF16Masters,
                                         graph::OptimizerOptions{.optimizer = graph::Optimizer::kAdam, .ranks = 4}));
  problem.machine = memory::make_machine({.threads = 1, .slow = {{"pcie3", kGiB}}}).value();
  ASSERT_TRUE(
      memory::add_processors({{"device", 1, {}}, {"host", 1, {"pcie3"}}, {"network", 1, {}}}, problem.machine).ok());
  const Result<plan::Plan> plan = problem.plan(kGiB);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  int collectives = 0;
  for (std::size_t slot = 0; slot < plan->ops.size(); ++slot) {
    const graph::Op& op = problem.graph.op(plan->schedule.empty() ? as_id<graph::OpIndex>(slot) : plan->schedule[slot]);
    EXPECT_EQ(plan->ops[as_id<graph::OpIndex>(slot)].processor == 2, graph::is_collective(op)) << op.name;
    collectives += graph::is_collective(op) ? 1 : 0;
  }
  EXPECT_GT(collectives, 0);
}

// Else whoever had a parameter's room meanwhile would hold up its return.
TEST(ZeroOffload, KeepsAParametersRoomWhileTheHostUpdatesIt) {
  const OffloadProblem problem(graph::Precision::kBF16Masters);
  const plan::Plan plan = problem.plan(kGiB).value();
  for (const plan::Migration& each : plan.migrations) {
    if (each.cause != plan::Cause::kUpdatedElsewhere) continue;
    const plan::Residency& back = plan.residencies[each.to];
    const bool kept = std::ranges::any_of(plan.residencies, [&](const plan::Residency& other) {
      return other.tensor == each.tensor && other.offset == back.offset && other.ops.begin == 0 &&
             other.ops.end == back.ops.begin;
    });
    EXPECT_TRUE(kept) << problem.graph.tensor(each.tensor).name;
  }
}

TEST(ZeroOffload, MovesFp32ParametersThereAndBack) {
  const OffloadProblem problem(graph::Precision::kF32);
  const Result<plan::Plan> plan = problem.plan(kGiB);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  Bytes moved = 0;
  for (const plan::Migration& each : plan->migrations) moved += problem.graph.tensor(each.tensor).bytes;
  EXPECT_EQ(moved, 12 * kElements);
}

TEST(ZeroOffload, TakesLessOfTheDeviceWithCheckpoints) {
  const OffloadProblem problem(offload_network(graph::Precision::kBF16Masters, graph::Optimizer::kAdam, 4, 256));
  const Result<plan::Plan> all = problem.plan(kGiB), again = problem.plan(kGiB, "zero-offload:checkpoints=1");
  ASSERT_TRUE(all.ok() && again.ok());
  EXPECT_LT(again->arena_bytes[0], all->arena_bytes[0]);
  EXPECT_GT(again->ops.size(), all->ops.size());
}

TEST(ZeroOffload, MakesAgainInEveryBatch) {
  const auto arena = [](int batches) {
    const graph::OptimizerOptions optimizer{.optimizer = graph::Optimizer::kAdam, .accumulate = batches};
    const OffloadProblem problem(offload_network(graph::Precision::kBF16Masters, optimizer, 4, 256));
    return problem.plan(kGiB, "zero-offload:checkpoints=1").value().arena_bytes[0];
  };
  EXPECT_LT(static_cast<double>(arena(3)), 1.1 * static_cast<double>(arena(1)));
}

TEST(ZeroOffload, BringsParametersBackInTimeForASecondLoss) {
  const OffloadProblem problem(
      models::build_training_model("dcgan", {.batch = 2, .image_size = 16, .width = 4}).value());
  const Result<plan::Plan> plan = problem.plan(kGiB);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_TRUE(plan->schedule.empty()) << "updates stay where the graph has them";
  const auto early = std::ranges::any_of(plan->migrations, [&](const plan::Migration& each) {
    return each.cause == plan::Cause::kUpdatedElsewhere && each.needed_by < problem.graph.op_count();
  });
  EXPECT_TRUE(early);
}

TEST(ZeroOffload, SaysWhatItNeeds) {
  OffloadProblem problem(graph::Precision::kBF16Masters);
  const Error why = problem.plan(16 * kKiB).error();
  EXPECT_TRUE(wants_more_room(why.code));
  EXPECT_THAT(advised("zero-offload", problem.request(16 * kKiB), why).message,
              HasSubstr("the smallest budget it can use is"));
  problem.machine = memory::make_machine({.threads = 1, .slow = {{"pcie3", kGiB}}}).value();
  EXPECT_THAT(problem.plan(kGiB).error().message, HasSubstr("--slow pcie3 --processors device:1:dram,host:1:pcie3"));
}

}  // namespace
}  // namespace sluice::planners
