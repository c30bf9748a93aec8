// Small networks on a GPU under random valid plans, some with ops in another order, again and again, and by random
// implementations, and under one that moves nothing, which becomes a CUDA graph: every parameter and loss has the bits of
// the same implementations, op by op, with nothing ever moved. Skipped where there is no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "sluice/base/as_index.hpp"
#include "sluice/base/sanitized.hpp"
#include "sluice/exec/executor.hpp"
#include "sluice/graph/choose.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/graph/rewrite/prepare.hpp"
#include "sluice/kernels/backends/backends.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/plan/plan_builder.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/testing/lane_order.hpp"
#include "sluice/testing/on_gpu.hpp"
#include "sluice/testing/op_cases/graph_runner.hpp"
#include "sluice/testing/random/random_plan.hpp"
#include "sluice/testing/random/random_schedule.hpp"
#include "sluice/testing/random/random_step.hpp"
#include "sluice/testing/random/seeded_random.hpp"
#include "sluice/testing/small_networks.hpp"
#include "sluice/testing/training_run.hpp"
#include "sluice/testing/wave_input.hpp"

namespace sluice::exec {
namespace {

constexpr int kStepsOfRandomPlans = 3;
constexpr int kStepsOfAGraph = 5;  // the third records it
constexpr std::uint64_t kRandomPlans = kSanitized ? 3 : 20;
constexpr std::uint64_t kInitialSeed = 5;

struct NetworkOnGpu {
  testing::SmallNetwork network;
  graph::Precision precision = graph::Precision::kF32;
};

std::ostream& operator<<(std::ostream& out, const NetworkOnGpu& tested) { return out << tested.network.name; }

class SameBitsOnGpu : public ::testing::TestWithParam<NetworkOnGpu> {
 protected:
  void SetUp() override {
    SLUICE_SKIP_WITHOUT_GPU();
    machine_ = memory::make_machine({.threads = 1, .slow = {{"host", kGiB}}, .gpu = gpu::find_gpu().value()}).value();
    kernels_ = testing::compiled(kernels::make_cuda_backend(), prepared());
  }

  graph::Graph prepared() const {
    return graph::prepare_training_graph(GetParam().network.forward, {}, GetParam().precision);
  }

  kernels::StepContext context(int step, testing::WaveInput& input) const {
    return {.step = step, .learning_rate = 0.02F, .input = &input, .seed = kInitialSeed};
  }

  // The tensors that outlive a step, and its losses.
  std::vector<graph::TensorId> kept() const {
    std::vector<graph::TensorId> found;
    for (graph::TensorId id = 0; id < kernels_->graph().tensor_count(); ++id) {
      const graph::Role role = kernels_->graph().tensor(id).role;
      if (graph::is_persistent(role) || role == graph::Role::kOutput) found.push_back(id);
    }
    return found;
  }

  // One for each op.
  std::vector<graph::OpChoice> random_implementations(std::uint64_t seed) const {
    testing::SeededRandom random(seed);
    std::vector<graph::OpChoice> choices;
    for (const graph::Op& op : kernels_->graph().ops()) {
      const auto last = static_cast<std::int32_t>(std::max<std::size_t>(op.implementations.size(), 1)) - 1;
      choices.push_back({random.between(0, last), kMainProcessor});
    }
    return choices;
  }

  plan::Plan plan_that_moves_nothing() const {
    const graph::Graph& graph = kernels_->graph();
    plan::PlanBuilder builder(graph, machine_);
    const graph::Liveness liveness = graph::analyze_liveness(graph);
    for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
      if (liveness.ranges[id].begin < liveness.ranges[id].end)
        builder.add_residency(id, memory::kFastTier, liveness.ranges[id]);
    }
    plan::Plan plan = builder.finish(std::vector<Bytes>(machine_.tiers.size(), kGiB)).value();
    plan.budgets = plan.arena_bytes;
    return plan;
  }

  // `step_kernels`: of the plan's own order; `plain`: of the same implementations, in the graph's.
  void expect_same_bits(const plan::Plan& plan, kernels::CompiledGraph& step_kernels, kernels::CompiledGraph& plain,
                        int steps = kStepsOfRandomPlans) {
    const graph::Graph& graph = kernels_->graph();
    ASSERT_TRUE(plan::verify_plan(graph, machine_, plan).empty());
    const program::Program program = program::lower_plan(graph, machine_, plan).value();
    auto executor = Executor::create(step_kernels, machine_, program, plan.budgets);
    ASSERT_TRUE(executor.ok()) << executor.error().message;
    testing::GraphRunner runner(plain);
    runner.initialise(kInitialSeed);
    for (const graph::TensorId id : kept()) {
      if (!graph::is_persistent(graph.tensor(id).role)) continue;
      // From memory that is not pinned, as a user's: it is on its way for longest.
      const std::vector<std::byte> bytes(runner.bytes(id).begin(), runner.bytes(id).end());
      ASSERT_TRUE((*executor)->write_tensor(id, bytes).ok());
    }
    testing::WaveInput input(graph);
    for (int step = 0; step < steps; ++step) {
      const auto times = (*executor)->run_step(context(step, input));
      ASSERT_TRUE(times.ok()) << times.error().message;
      EXPECT_EQ(testing::find_out_of_turn(program, *times), std::nullopt);
      runner.run_step(context(step, input));
      for (const graph::TensorId id : kept()) {
        std::vector<std::byte> bytes(as_index(graph.tensor(id).bytes));
        ASSERT_TRUE((*executor)->read_tensor(id, bytes).ok());
        ASSERT_EQ(std::memcmp(bytes.data(), runner.data(id), bytes.size()), 0)
            << graph.tensor(id).name << " after step " << step;
      }
    }
  }

  memory::Machine machine_;
  std::unique_ptr<kernels::CompiledGraph> kernels_;
};

TEST_P(SameBitsOnGpu, UnderRandomPlans) {
  const auto plain = testing::compiled(kernels::make_cuda_backend(), prepared());
  for (std::uint64_t seed = 0; seed < kRandomPlans; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_same_bits(testing::random_plan(seed, kernels_->graph(), machine_), *kernels_, *plain);
    if (HasFatalFailure()) return;
  }
}

TEST_P(SameBitsOnGpu, AsACudaGraph) {
  const plan::Plan plan = plan_that_moves_nothing();
  ASSERT_TRUE(plan.migrations.empty());
  expect_same_bits(plan, *kernels_, *testing::compiled(kernels::make_cuda_backend(), prepared()), kStepsOfAGraph);
}

TEST_P(SameBitsOnGpu, UnderRandomSchedules) {
  const graph::Graph& graph = kernels_->graph();
  for (std::uint64_t seed = 0; seed < kRandomPlans; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::vector<graph::OpChoice> choices = random_implementations(seed);
    const graph::Rescheduled step = graph::chosen_step(graph, testing::random_schedule(graph, seed), choices);
    const auto step_kernels = kernels_->rescheduled(step);
    const auto plain = kernels_->rescheduled(graph::chosen_step(graph, choices));
    expect_same_bits(testing::random_plan_of_step(seed, graph, machine_, step), *step_kernels, *plain);
    if (HasFatalFailure()) return;
  }
}

std::vector<NetworkOnGpu> networks_on_gpu() {
  std::vector<NetworkOnGpu> networks;
  for (const testing::SmallNetwork& network : testing::small_networks()) networks.push_back({network});
  networks.push_back({networks.front().network, graph::Precision::kBF16});
  return networks;
}

INSTANTIATE_TEST_SUITE_P(Networks, SameBitsOnGpu, ::testing::ValuesIn(testing::cases_on_gpu(networks_on_gpu())),
                         [](const auto& tested) {
                           return tested.param.network.name +
                                  (tested.param.precision == graph::Precision::kBF16 ? "_bf16" : "");
                         });

}  // namespace
}  // namespace sluice::exec
