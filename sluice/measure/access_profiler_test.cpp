// Counting changes nothing: the same bits as without it, under any plan, with transfers of every kind. And it counts.
#include "sluice/measure/access_profiler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <filesystem>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/own_pages.hpp"
#include "sluice/testing/mixing_graph.hpp"
#include "sluice/testing/op_cases/graph_runner.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/random_plan.hpp"
#include "sluice/testing/start_bytes.hpp"

namespace sluice::measure {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr Bytes kReach = 64 * profile::kPageBytes;

struct RandomStep {
  explicit RandomStep(std::uint64_t seed)
      : compiled(testing::random_graph(seed), {.op_seconds = 20e-6, .failing_op = {}}),
        machine(testing::random_machine(seed)),
        plan(plan::on_own_pages(compiled.graph(), machine, testing::random_plan(seed, compiled.graph(), machine))) {
    machine.threads = 1;
    for (memory::Tier& tier : machine.tiers) {
      if (tier.kind == memory::TierKind::kFile) tier.path = std::filesystem::temp_directory_path().string();
    }
    program = program::lower_plan(compiled.graph(), machine, plan).value();
    executor = exec::Executor::create(compiled, machine, program, plan.budgets).value();
    for (graph::TensorId id = 0; id < compiled.graph().tensor_count(); ++id) {
      if (graph::is_persistent(compiled.graph().tensor(id).role)) start_values(id);
    }
  }

  void start_values(graph::TensorId id) {
    const std::vector<std::byte> bytes = testing::start_bytes(compiled.graph().tensor(id), id);
    ASSERT_TRUE(executor->write_tensor(id, bytes).ok());
  }

  Result<profile::AccessProfile> profile(const AccessCounting& counting) {
    return profile_accesses(*executor, compiled.graph(), program, machine, counting, [this]() -> Result<Seconds> {
      SLUICE_ASSIGN(const program::StepTimes trace, executor->run_step(context));
      ++context.step;
      return trace.step_seconds;
    });
  }

  testing::MixingGraph compiled;
  memory::Machine machine;
  plan::Plan plan;
  program::Program program;
  std::unique_ptr<exec::Executor> executor;
  kernels::StepContext context;
};

void expect_bits_of_uncounted_steps(RandomStep& run, std::uint64_t seed) {
  RandomStep plain(seed);
  for (; plain.context.step < run.context.step; ++plain.context.step) {
    ASSERT_TRUE(plain.executor->run_step(plain.context).ok());
  }
  const graph::Graph& graph = run.compiled.graph();
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (!graph::is_persistent(graph.tensor(id).role) && graph.tensor(id).role != graph::Role::kOutput) continue;
    std::vector<std::byte> counted(as_index(graph.tensor(id).bytes));
    std::vector<std::byte> uncounted(counted.size());
    ASSERT_TRUE(run.executor->read_tensor(id, counted).ok());
    ASSERT_TRUE(plain.executor->read_tensor(id, uncounted).ok());
    ASSERT_TRUE(counted == uncounted) << graph.tensor(id).name;
  }
}

TEST(AccessProfiler, ChangesNoBitUnderRandomPlans) {
  std::size_t transfers = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStep run(seed);
    const auto profile = run.profile({.tlb_reach = kReach, .largest_chunk = profile::kPageBytes});
    ASSERT_TRUE(profile.ok()) << profile.error().message;
    expect_bits_of_uncounted_steps(run, seed);
    transfers += run.program.transfers.size();
    std::int64_t touched = 0;
    for (const profile::TensorAccesses& accesses : profile::accesses_by_tensor(run.compiled.graph(), *profile)) {
      touched += accesses.reads + accesses.writes;
    }
    EXPECT_GT(touched, 0);
  }
  EXPECT_GT(transfers, 100U) << "too little moved for this test to mean much";
}

TEST(AccessProfiler, SaysHowItCounted) {
  RandomStep run(1);
  const auto profile = run.profile({});
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_EQ(profile->graph_fingerprint, run.compiled.graph().fingerprint());
  EXPECT_EQ(profile->compute_fingerprint, run.machine.compute_fingerprint());
  EXPECT_EQ(profile->method, "page protection");
  EXPECT_GE(profile->tlb_reach, 64 * profile::kPageBytes);
  EXPECT_GE(profile->largest_chunk, profile::kPageBytes);
  EXPECT_GT(profile->normal_step, 0);
  EXPECT_GT(profile->profiled_step, 0);
  EXPECT_THAT(profile->notes, Contains(HasSubstr("TLB of")));
  EXPECT_GE(run.context.step, 5) << "one warm-up, three normal, at least one counted";
}

TEST(AccessProfiler, RefusesOptionsOutOfRange) {
  RandomStep run(2);
  for (const AccessCounting& bad :
       {AccessCounting{.tlb_reach = 100}, AccessCounting{.tlb_reach = kReach, .largest_chunk = 5000},
        AccessCounting{.tlb_reach = kReach, .largest_chunk = kReach}}) {
    const auto profile = run.profile(bad);
    ASSERT_FALSE(profile.ok());
    EXPECT_EQ(profile.error().code, ErrorCode::kBadInput) << profile.error().message;
  }
  EXPECT_TRUE(run.profile({.tlb_reach = kReach}).ok()) << "a refusal leaves nothing behind";
}

class CallCounter : public exec::OpObserver {
 public:
  Status before_op(graph::OpIndex op, std::span<void* const> operands) override {
    EXPECT_FALSE(operands.empty());
    begun = op + 1;
    return op == refused ? Status(Error{ErrorCode::kOutOfSpace, "no more mappings"}) : Status();
  }
  void after_op(graph::OpIndex op) override { ended = op + 1; }
  graph::OpIndex begun = 0, ended = 0, refused = -1;
};

TEST(OpObserver, SeesEveryOpAlsoOneThatFails) {
  RandomStep whole(3);
  CallCounter counter;
  whole.executor->observe(&counter);
  ASSERT_TRUE(whole.executor->run_step({}).ok());
  EXPECT_EQ(counter.begun, whole.compiled.graph().op_count());
  EXPECT_EQ(counter.ended, counter.begun);
  whole.executor->observe(nullptr);
  counter = {};
  ASSERT_TRUE(whole.executor->run_step({.step = 1}).ok());
  EXPECT_EQ(counter.begun, 0);

  testing::MixingGraph failing(whole.compiled.graph(), {.op_seconds = 0, .failing_op = 2});
  const auto executor = exec::Executor::create(failing, whole.machine, whole.program, whole.plan.budgets).value();
  executor->observe(&counter);
  EXPECT_FALSE(executor->run_step({}).ok());
  EXPECT_EQ(counter.ended, 3);
}

// Counts the transfers of all links that are under way.
class CountedEngine : public memory::TransferEngine {
 public:
  CountedEngine(std::unique_ptr<memory::TransferEngine> engine, std::atomic<int>& under_way)
      : engine_(std::move(engine)), under_way_(under_way) {}
  void submit(program::TransferIndex transfer, Bytes from, Bytes to, Bytes bytes) override {
    ++under_way_;
    engine_->submit(transfer, from, to, bytes);
  }
  void wait(std::optional<Seconds> deadline, std::vector<memory::FinishedTransfer>& finished) override {
    const std::size_t before = finished.size();
    engine_->wait(deadline, finished);
    under_way_ -= static_cast<int>(finished.size() - before);
  }
  void wake() override { engine_->wake(); }
  int in_flight() const override { return engine_->in_flight(); }

 private:
  std::unique_ptr<memory::TransferEngine> engine_;
  std::atomic<int>& under_way_;
};

class OverlapCounter : public exec::OpObserver {
 public:
  explicit OverlapCounter(const std::atomic<int>& under_way) : under_way_(under_way) {}
  Status before_op(graph::OpIndex, std::span<void* const>) override {
    overlaps += under_way_.load();
    return {};
  }
  void after_op(graph::OpIndex) override { overlaps += under_way_.load(); }
  int overlaps = 0;

 private:
  const std::atomic<int>& under_way_;
};

TEST(OpObserver, NoTransferIsUnderWayWhileAnOpRuns) {
  std::size_t transfers = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStep run(seed);
    for (memory::Link& link : run.machine.links) {
      link.throttled = true;
      link.bandwidth = 100e6;  // slow enough to overlap ops, were they allowed to
    }
    std::atomic<int> under_way{0};
    const auto count = [&](const memory::Machine& machine, memory::LinkId link,
                           const memory::TierStorages& storages) -> Result<std::unique_ptr<memory::TransferEngine>> {
      SLUICE_ASSIGN(auto engine, memory::make_engine(machine, link, storages));
      return std::unique_ptr<memory::TransferEngine>(std::make_unique<CountedEngine>(std::move(engine), under_way));
    };
    const auto executor =
        exec::Executor::create(run.compiled, run.machine, run.program, run.plan.budgets, count).value();
    OverlapCounter counter(under_way);
    executor->observe(&counter);
    ASSERT_TRUE(executor->run_step({}).ok());
    EXPECT_EQ(counter.overlaps, 0);
    transfers += run.program.transfers.size();
  }
  EXPECT_GT(transfers, 50U) << "too little moved for this test to mean much";
}

TEST(OpObserver, ItsErrorEndsTheStep) {
  RandomStep run(4);
  CallCounter counter;
  counter.refused = 1;
  run.executor->observe(&counter);
  const auto trace = run.executor->run_step({});
  ASSERT_FALSE(trace.ok());
  EXPECT_THAT(trace.error().message, HasSubstr("no more mappings"));
  EXPECT_EQ(counter.ended, 1);
}

TEST(ChooseChunk, IsTheSmallestThatKeepsThePromise) {
  graph::Graph graph;
  graph::Tensor tensor;
  tensor.name = "x";
  tensor.shape = {256 * kMiB / 4};
  graph.add_tensor(tensor);
  graph::Op op;
  op.name = "op";
  op.outputs = {0};
  graph.add_op(op);
  constexpr Bytes kLimit = 512 * kKiB;
  EXPECT_EQ(choose_chunk(graph, 100, kLimit), profile::kPageBytes);
  EXPECT_EQ(choose_chunk(graph, 0, kLimit), kLimit);
  Bytes last = profile::kPageBytes;
  for (const Seconds extra : {0.3, 0.1, 0.05, 0.03}) {
    const Bytes chunk = choose_chunk(graph, extra, kLimit);
    EXPECT_GE(chunk, last);
    last = chunk;
  }
  EXPECT_GT(last, profile::kPageBytes);
}

}  // namespace
}  // namespace sluice::measure
