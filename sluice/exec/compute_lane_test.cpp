// Steps on two processors: that they run at once, wait where they must, and fail together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "sluice/exec/executor.hpp"
#include "sluice/testing/mixing_graph.hpp"

namespace sluice::exec {
namespace {

using ::testing::HasSubstr;

constexpr Bytes kLaneRoom = 4096;

// Ops 0 and 2 on the device, 1 and 3 on the host; op 3 reads what op 2 writes, the others have nothing in common.
struct TwoProcessors {
  TwoProcessors() {
    machine.tiers = {{.name = "dram", .capacity = kGiB}};
    machine.processors = {{.name = "device"}, {.name = "host"}};
    for (int i = 0; i < 4; ++i)
      graph.add_tensor({.name = "t" + std::to_string(i), .shape = {kLaneRoom / 4}, .role = graph::Role::kOutput});
    graph.layers = {"all"};
    for (graph::OpIndex op = 0; op < 4; ++op) {
      const std::vector<graph::TensorId> read =
          op == 3 ? std::vector<graph::TensorId>{2} : std::vector<graph::TensorId>{};
      graph.add_op({.name = "op" + std::to_string(op), .inputs = read, .outputs = {op}, .processor = op % 2});
      const program::Location own{memory::kFastTier, op * kLaneRoom};
      program.compute.push_back({op, {own}, {}, {}, op % 2});
      program.step_start.push_back(own);
    }
    program.compute[3].operands = {{memory::kFastTier, 2 * kLaneRoom}, {memory::kFastTier, 3 * kLaneRoom}};
    program.compute[3].op_waits = {2};
    program.arena_bytes = {4 * kLaneRoom};
  }

  std::unique_ptr<Executor> make(kernels::CompiledGraph& compiled) const {
    return Executor::create(compiled, machine, program, program.arena_bytes).value();
  }

  graph::Graph graph;
  memory::Machine machine;
  program::Program program;
};

TEST(ComputeLanes, RunAtOnceAndWaitForEachOther) {
  const TwoProcessors two;
  testing::MixingGraph compiled(two.graph, {.op_seconds = 5e-3});
  const auto executor = two.make(compiled);
  int at_once = 0;
  for (kernels::StepContext context; context.step < 10; ++context.step) {
    const program::StepTimes step = executor->run_step(context).value();
    at_once += step.ops[1].begin < step.ops[0].end && step.ops[0].begin < step.ops[1].end ? 1 : 0;
    EXPECT_GE(step.ops[2].begin, step.ops[0].end);
    EXPECT_GE(step.ops[3].begin, step.ops[1].end);
    EXPECT_GE(step.ops[3].begin, step.ops[2].end) << "it reads what op 2 writes";
    EXPECT_GE(step.step_seconds, step.ops[3].end) << "a step ends with the last op, whoever runs it";
  }
  EXPECT_GT(at_once, 0) << "busy machines may keep them apart, but not in every step";
}

TEST(ComputeLanes, AnOpThatFailsOnOneEndsTheStepOnAll) {
  for (const graph::OpIndex failing : {0, 1, 2, 3}) {
    SCOPED_TRACE(failing);
    const TwoProcessors two;
    testing::MixingGraph compiled(two.graph, {.failing_op = failing});
    const auto executor = two.make(compiled);
    const auto step = executor->run_step({});
    ASSERT_FALSE(step.ok());
    EXPECT_THAT(step.error().message, HasSubstr("op " + std::to_string(failing) + " (op" + std::to_string(failing)));
    EXPECT_FALSE(executor->run_step({}).ok()) << "and the executor goes no further";
  }
}

class ThrowingGraph : public testing::MixingGraph {
 public:
  using testing::MixingGraph::MixingGraph;
  Status run(graph::OpIndex op, std::span<void* const> operands, const kernels::StepContext& context) override {
    if (op == 1) throw std::runtime_error("no such thing");
    return testing::MixingGraph::run(op, operands, context);
  }
};

TEST(ComputeLanes, AnExceptionOnAnotherThreadIsAnErrorOfTheStep) {
  const TwoProcessors two;
  ThrowingGraph compiled(two.graph);
  const auto executor = two.make(compiled);
  const auto step = executor->run_step({});
  ASSERT_FALSE(step.ok());
  EXPECT_THAT(step.error().message, HasSubstr("processor 1 failed: no such thing"));
}

// One op at a time, in the plan's order.
class Watcher : public OpObserver {
 public:
  Status before_op(graph::OpIndex op, std::span<void* const>) override {
    EXPECT_EQ(op, next_);
    EXPECT_FALSE(inside_.exchange(true));
    return {};
  }
  void after_op(graph::OpIndex op) override {
    next_ = op + 1;
    inside_ = false;
  }
  graph::OpIndex seen() const { return next_; }

 private:
  std::atomic<graph::OpIndex> next_ = 0;
  std::atomic<bool> inside_ = false;
};

TEST(ComputeLanes, AnObserverSeesOneOpAfterTheOther) {
  const TwoProcessors two;
  testing::MixingGraph compiled(two.graph, {.op_seconds = 1e-3});
  const auto executor = two.make(compiled);
  Watcher watcher;
  executor->observe(&watcher);
  ASSERT_TRUE(executor->run_step({}).ok());
  EXPECT_EQ(watcher.seen(), 4);
}

}  // namespace
}  // namespace sluice::exec
