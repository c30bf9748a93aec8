// The promise of the whole project, on random graphs under random valid plans: whatever is moved when and where, every
// tensor that outlives the step, and the loss, has the same bits as if nothing had ever moved.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "sluice/base/as_index.hpp"
#include "sluice/base/random.hpp"
#include "sluice/base/sanitized.hpp"
#include "sluice/exec/executor.hpp"
#include "sluice/memory/transfer/shared_copy_engine.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/testing/failing_engine.hpp"
#include "sluice/testing/lane_order.hpp"
#include "sluice/testing/mixing_graph.hpp"
#include "sluice/testing/op_cases/graph_runner.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/random_plan.hpp"
#include "sluice/testing/random/random_schedule.hpp"
#include "sluice/testing/random/random_step.hpp"
#include "sluice/testing/start_bytes.hpp"
#include "sluice/testing/test_set.hpp"

namespace sluice::exec {
namespace {

constexpr int kComparedSteps = 3;
constexpr std::uint64_t kRandomSteps = kSanitized ? 50 : 250;  // each takes five times longer under a sanitizer

enum class Steps {
  kAsGiven,
  kScheduled,  // ops in a random order, some again and again
  kChosen,     // the same on several processors, by random implementations
};

struct RandomRun {
  explicit RandomRun(std::uint64_t seed, Steps steps = Steps::kAsGiven)
      : compiled(testing::random_graph(seed), {.op_seconds = seed % 2 == 0 ? 0 : 20e-6, .failing_op = {}}),
        machine(testing::random_machine(seed)) {
    machine.threads = 1;
    if (steps == Steps::kChosen) testing::add_random_processors(seed, machine);
    if (steps == Steps::kAsGiven) {
      plan = testing::random_plan(seed, compiled.graph(), machine);
    } else {
      const graph::Graph& graph = compiled.graph();
      const graph::Rescheduled step =
          testing::random_step(seed, graph, machine, testing::random_schedule(graph, seed, seed % 2 == 0 ? 1 : 1.5));
      plan = testing::random_plan_of_step(seed, graph, machine, step);
      in_slots = compiled.rescheduled(step);
    }
    for (memory::Tier& tier : machine.tiers) {
      if (tier.kind == memory::TierKind::kFile) tier.path = std::filesystem::temp_directory_path().string();
    }
    for (memory::Link& link : machine.links) {
      link.throttled = seed % 3 == 0;
      if (link.throttled) link.bandwidth = 500e6;
    }
  }

  Result<std::unique_ptr<Executor>> make_executor(const EngineFactory& engines = memory::make_engine) {
    program = program::lower_plan(compiled.graph(), machine, plan).value();
    return Executor::create(in_slots ? *in_slots : compiled, machine, program, plan.budgets, engines);
  }

  std::vector<graph::TensorId> tensors_with(auto&& role_wanted) const {
    std::vector<graph::TensorId> found;
    for (graph::TensorId id = 0; id < compiled.graph().tensor_count(); ++id) {
      if (role_wanted(compiled.graph().tensor(id).role)) found.push_back(id);
    }
    return found;
  }

  testing::MixingGraph compiled;
  std::unique_ptr<kernels::CompiledGraph> in_slots;
  memory::Machine machine;
  plan::Plan plan;
  program::Program program;
};

// The plan of `seed` for some steps, beside the same graph with nothing ever moved.
void expect_same_bits(std::uint64_t seed, const EngineFactory& engines = memory::make_engine,
                      Steps steps = Steps::kAsGiven) {
  RandomRun run(seed, steps);
  const graph::Graph& graph = run.compiled.graph();
  ASSERT_TRUE(plan::verify_plan(graph, run.machine, run.plan).empty());
  auto executor = run.make_executor(engines);
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  testing::MixingGraph plain(graph);
  testing::GraphRunner runner(plain);
  for (const graph::TensorId id : run.tensors_with(graph::is_persistent)) {
    const std::vector<std::byte> bytes = testing::start_bytes(graph.tensor(id), id);
    ASSERT_TRUE((*executor)->write_tensor(id, bytes).ok());
    std::memcpy(runner.data(id), bytes.data(), bytes.size());
  }
  const auto kept =
      run.tensors_with([](graph::Role role) { return graph::is_persistent(role) || role == graph::Role::kOutput; });
  for (kernels::StepContext context; context.step < kComparedSteps; ++context.step) {
    const auto trace = (*executor)->run_step(context);
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    ASSERT_EQ(testing::find_out_of_turn(run.program, *trace), std::nullopt);
    runner.run_step(context);
    for (const graph::TensorId id : kept) {
      std::vector<std::byte> bytes(as_index(graph.tensor(id).bytes));
      ASSERT_TRUE((*executor)->read_tensor(id, bytes).ok());
      ASSERT_EQ(std::memcmp(bytes.data(), runner.data(id), bytes.size()), 0)
          << graph.tensor(id).name << " after step " << context.step;
    }
  }
}

class SameBits : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(SameBits, UnderRandomPlans) {
  for (std::uint64_t seed = GetParam(); seed < GetParam() + 25; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_same_bits(seed);
    if (HasFatalFailure()) return;
  }
}

TEST_P(SameBits, UnderRandomSchedules) {
  for (std::uint64_t seed = GetParam() * 10; seed < GetParam() * 10 + kRandomSteps; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_same_bits(seed, memory::make_engine, Steps::kScheduled);
    if (HasFatalFailure()) return;
  }
}

TEST_P(SameBits, OnSeveralProcessors) {
  for (std::uint64_t seed = GetParam() * 10; seed < GetParam() * 10 + kRandomSteps; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_same_bits(seed, memory::make_engine, Steps::kChosen);
    if (HasFatalFailure()) return;
  }
}

// Copies between memories that the compute thread helps with, also on a host that has processors to spare for the lanes
// (make_copy_engine() would not let it help there).
TEST_P(SameBits, WhereTheComputeThreadHelpsToCopy) {
  const auto helped = [](const memory::Machine& machine, memory::LinkId id,
                         const memory::TierStorages& storages) -> Result<std::unique_ptr<memory::TransferEngine>> {
    const memory::Link& link = machine.link(id);
    if (storages.file(link.from) != nullptr || storages.file(link.to) != nullptr) {
      return memory::make_engine(machine, id, storages);
    }
    return std::unique_ptr<memory::TransferEngine>(std::make_unique<memory::SharedCopyEngine>(
        storages.base(link.from), storages.base(link.to), memory::streaming_copy));
  };
  for (std::uint64_t seed = GetParam(); seed < GetParam() + 25; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_same_bits(seed, helped);
    if (HasFatalFailure()) return;
  }
}

// Where each case begins; a case has 25 seeds.
std::vector<std::uint64_t> first_seeds() {
  const std::uint64_t cases = testing::pick_for_set(2, 8, 400);
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t i = 0; i < cases; ++i) seeds.push_back(25 * i);
  return seeds;
}

INSTANTIATE_TEST_SUITE_P(Seeds, SameBits, ::testing::ValuesIn(first_seeds()));

// Failing transfers at random points of random programs: always an error that names the cause, never a hang.
TEST(RandomPrograms, SurviveAFailingTransfer) {
  for (std::uint64_t seed = 1000; seed < 1060; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomRun run(seed);
    const auto count = static_cast<std::uint64_t>(run.plan.migrations.size());
    if (count == 0) continue;
    const auto failing = static_cast<int>(random_bits(seed, 0, 0) % (2 * count));
    auto executor = run.make_executor(testing::fail_transfer(failing, {ErrorCode::kIo, "input/output error"}));
    ASSERT_TRUE(executor.ok()) << executor.error().message;
    Status status;
    for (kernels::StepContext context; context.step < 2 && status.ok(); ++context.step) {
      const auto trace = (*executor)->run_step(context);
      if (!trace.ok()) status = trace.error();
    }
    ASSERT_FALSE(status.ok()) << "transfer " << failing << " of " << count << " a step";
    EXPECT_EQ(status.error().code, ErrorCode::kIo);
    EXPECT_NE(status.error().message.find("input/output error"), std::string::npos);
    EXPECT_FALSE((*executor)->run_step({}).ok());
  }
}

}  // namespace
}  // namespace sluice::exec
