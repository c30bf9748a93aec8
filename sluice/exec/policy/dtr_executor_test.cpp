// Steps under dtr, executed: the bits of the plain step in every budget that does, the decisions of a step whose ops take
// the same times without running, and what fails is said.
#include "sluice/exec/policy/dtr_executor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "sluice/base/as_index.hpp"
#include "sluice/testing/mixing_graph.hpp"
#include "sluice/testing/op_cases/graph_runner.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/seeded_random.hpp"
#include "sluice/testing/start_bytes.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::exec {
namespace {

using ::testing::HasSubstr;

constexpr int kDtrSteps = 3;

memory::Machine one_thread() {
  memory::Machine machine = testing::tiny_machine();
  machine.threads = 1;
  return machine;
}

Bytes bytes_of_all(const graph::Graph& graph) {
  Bytes bytes = 0;
  for (const graph::Tensor& tensor : graph.tensors()) bytes += align_up(tensor.bytes, 64);
  return bytes;
}

// Runs both side by side; false where the budget does not do. `again`: counts what was made again.
bool same_bits_in(Bytes budget, const graph::Graph& graph, double& again) {
  testing::MixingGraph compiled(graph);
  testing::MixingGraph plain(graph);
  testing::GraphRunner runner(plain);
  auto executor = DtrExecutor::create(compiled, one_thread(), budget);
  if (!executor.ok()) return false;
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (!graph::is_persistent(graph.tensor(id).role)) continue;
    const std::vector<std::byte> bytes = testing::start_bytes(graph.tensor(id), id);
    EXPECT_TRUE((*executor)->write_tensor(id, bytes).ok());
    std::memcpy(runner.data(id), bytes.data(), bytes.size());
  }
  for (kernels::StepContext context; context.step < kDtrSteps; ++context.step) {
    const auto trace = (*executor)->run_step(context);
    if (!trace.ok()) {
      EXPECT_EQ(trace.error().code, ErrorCode::kNoneFound) << trace.error().message;
      EXPECT_THAT((*executor)->run_step(context).error().message, HasSubstr("an earlier step failed"));
      return false;
    }
    runner.run_step(context);
    for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
      const graph::Role role = graph.tensor(id).role;
      if (!graph::is_persistent(role) && role != graph::Role::kOutput) continue;
      std::vector<std::byte> bytes(as_index(graph.tensor(id).bytes));
      EXPECT_TRUE((*executor)->read_tensor(id, bytes).ok());
      EXPECT_EQ(std::memcmp(bytes.data(), runner.data(id), bytes.size()), 0)
          << graph.tensor(id).name << " after step " << context.step;
    }
    EXPECT_LE((*executor)->last_step().most_bytes, budget);
  }
  again += (*executor)->figures()[1].second;
  return true;
}

TEST(DtrExecutor, RandomStepsHaveTheSameBitsInEveryBudget) {
  double again = 0;
  int did = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const graph::Graph graph = testing::random_graph(seed);
    for (int percent = 100; percent > 0; percent -= 5) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << ", " << percent << " %");
      did +=
          same_bits_in(align_down(bytes_of_all(graph) * percent / 100, memory::kBlockAlignment), graph, again) ? 1 : 0;
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(did, 200);
  EXPECT_GT(again, 500);
}

// Real kernels in an arena, or none; either way ops take the times that they are given.
class GivenTimes final : public policies::DtrDriver {
 public:
  GivenTimes(const policies::Dtr& dtr, std::vector<Seconds> times, kernels::CompiledGraph* kernels)
      : dtr_(dtr), times_(std::move(times)), kernels_(kernels), arena_(as_index(dtr.budget())) {}

  Result<Seconds> run(graph::OpIndex slot, std::span<const Bytes> operands) override {
    decisions_.push_back(slot);
    decisions_.insert(decisions_.end(), operands.begin(), operands.end());
    std::vector<void*> pointers;
    for (const Bytes offset : operands) pointers.push_back(arena_.data() + offset);
    if (kernels_ != nullptr) SLUICE_RETURN_IF_ERROR(kernels_->run(slot, pointers, {}));
    return times_[as_index(dtr_.kernels().op_of[as_index(slot)])];
  }
  Seconds move(Bytes from, Bytes to, Bytes bytes) override {
    if (kernels_ != nullptr) std::memmove(arena_.data() + to, arena_.data() + from, as_index(bytes));
    return 0.25;
  }
  void evicted(policies::ValueId value) override { decisions_.push_back(-value - 1); }

  const std::vector<std::int64_t>& decisions() const { return decisions_; }

 private:
  const policies::Dtr& dtr_;
  std::vector<Seconds> times_;  // by op
  kernels::CompiledGraph* kernels_;
  std::vector<std::byte> arena_;
  std::vector<std::int64_t> decisions_;
};

TEST(DtrExecutor, EqualTimesGiveEqualDecisions) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    const graph::Graph graph = testing::random_graph(seed);
    testing::SeededRandom random(seed);
    std::vector<Seconds> times(graph.ops().size());
    for (Seconds& each : times) each = random.between(1, 9);
    Result<policies::Dtr> executed = policies::Dtr::create(graph, bytes_of_all(graph) / 2);
    if (!executed.ok()) continue;
    policies::Dtr simulated = policies::Dtr::create(graph, bytes_of_all(graph) / 2).value();
    testing::MixingGraph compiled(graph);
    const auto kernels = compiled.rescheduled(executed->kernels());
    GivenTimes real(*executed, times, kernels.get());
    GivenTimes unreal(simulated, times, nullptr);
    EXPECT_EQ(executed->run_step(real).ok(), simulated.run_step(unreal).ok());
    EXPECT_EQ(real.decisions(), unreal.decisions());
    EXPECT_FALSE(real.decisions().empty());
  }
}

TEST(DtrExecutor, AFailingOpEndsTheStepByName) {
  const graph::Graph graph = testing::random_graph(3);
  testing::MixingGraph compiled(graph, {.op_seconds = 0, .failing_op = 4});
  auto executor = DtrExecutor::create(compiled, one_thread(), bytes_of_all(graph)).value();
  const auto step = executor->run_step({});
  ASSERT_FALSE(step.ok());
  EXPECT_EQ(step.error().code, ErrorCode::kIo);
  EXPECT_THAT(step.error().message,
              HasSubstr(compiled.rescheduled(policies::find_step_values(graph).kernels)->graph().op(4).name));
  EXPECT_THAT(executor->run_step({}).error().message, HasSubstr("an earlier step failed"));
}

TEST(DtrExecutor, RefusesOtherProcessors) {
  graph::Graph graph = testing::random_graph(3);
  graph.op(1).processor = 1;
  testing::MixingGraph compiled(graph);
  const auto executor = DtrExecutor::create(compiled, one_thread(), bytes_of_all(graph));
  ASSERT_FALSE(executor.ok());
  EXPECT_EQ(executor.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(executor.error().message, HasSubstr("the other processors"));
}

}  // namespace
}  // namespace sluice::exec
