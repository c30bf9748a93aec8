// The optimizer's states in a file behind the host's memory (docs/planners/zero-offload.md): the same bits as everything in
// fast memory, and nothing lost when the file fails in the middle of the host's step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <mutex>

#include "sluice/memory/processors.hpp"
#include "sluice/testing/failing_engine.hpp"
#include "sluice/testing/thread_ranks.hpp"
#include "tests/cli/command_runner.hpp"
#include "tests/e2e/trained_run.hpp"

namespace sluice::tests {
namespace {

using ::testing::HasSubstr;

constexpr float kOnFileRate = 1e-3F;
constexpr std::int64_t kSteps = 4, kSavedAt = 2;

train::Workload gpt2(graph::OptimizerOptions optimizer, graph::Precision precision = graph::Precision::kBF16Masters) {
  optimizer.optimizer = graph::Optimizer::kAdamW;
  return test_workload({.model = "gpt2_small",
                        .shape = {.batch = 2, .classes = 200, .sequence = 32, .width = 64, .depth = 2},
                        .optimizer = optimizer,
                        .precision = precision,
                        .other_processors = {{1, std::string(kDefaultBackend)}}});
}

memory::Machine machine_with_host(const std::string& memory) {
  memory::Machine machine = test_machine(1, {memory, "file"});
  SLUICE_CHECK(memory::add_processors({{"device", 1, {}}, {"host", 1, {"pcie3"}}}, machine).ok(),
               "the host has its memory");
  return machine;
}

// With `share` of the host memory that holds all.
struct FiledStep {
  memory::Machine machine;
  plan::Plan plan;

  FiledStep(const train::Workload& workload, double share) : machine(machine_with_host("pcie3")) {
    plan = *test_plan(workload, machine, "zero-offload", "100%");
    const auto memory = static_cast<Bytes>(share * static_cast<double>(plan.arena_bytes[1])) / kKiB;
    machine = machine_with_host("pcie3:" + std::to_string(memory) + "KiB");
    plan = test_plan(workload, machine, "zero-offload", "100%").value();
    EXPECT_GT(plan.arena_bytes[2], plan.arena_bytes[1] / 4) << "or this shows nothing";
  }
};

// A processor without bf16 trains in fp32 instead: gradients, which stay in the host's memory, take twice as much there.
double little_memory(const train::Workload& workload) {
  return workload.options.precision == graph::Precision::kF32 ? 0.65 : 0.55;
}

TEST(StatesOnFile, GiveTheBitsOfEverythingInFastMemory) {
  const std::vector<graph::OptimizerOptions> ways{{},
                                                  {.clip_norm = 1},
                                                  {.accumulate = 2},
                                                  {.delayed = true},
                                                  {.delayed = true, .clip_norm = 0.5F, .accumulate = 2}};
  for (const graph::Precision precision : {graph::Precision::kBF16Masters, graph::Precision::kF32}) {
    for (const graph::OptimizerOptions& way : ways) {
      SCOPED_TRACE(::testing::Message() << "clip " << way.clip_norm << ", delayed " << way.delayed << ", batches "
                                        << way.accumulate << ", masters " << (precision != graph::Precision::kF32));
      train::Workload workload = gpt2(way, precision);
      const FiledStep step(workload, 0.75);
      const plan::Plan fast = *test_plan(workload, step.machine, "fast-only", "100%");
      EXPECT_TRUE(train(workload, step.machine, step.plan, kSteps, kOnFileRate) ==
                  train(workload, step.machine, fast, kSteps, kOnFileRate));
    }
  }
}

TEST(StatesOnFile, GiveThemToEveryRank) {
  std::mutex mutex;
  std::vector<TrainedRun> all;
  for (const bool filed : {false, true}) {
    testing::ThreadRanks ranks(2);
    ranks.run([&](kernels::Ranks& each) {
      train::Workload workload = gpt2({.clip_norm = 1, .ranks = 2});
      const FiledStep step(workload, 0.75);
      const plan::Plan plan = filed ? step.plan : *test_plan(workload, step.machine, "fast-only", "100%");
      TrainedRun run = train(workload, step.machine, plan, kSteps, kOnFileRate, {.ranks = &each});
      const std::scoped_lock lock(mutex);
      all.push_back(std::move(run));
    });
  }
  ASSERT_EQ(all.size(), 4u);
  for (const TrainedRun& each : all) EXPECT_EQ(each.parameter_hash, all.front().parameter_hash);
}

TEST(StatesOnFile, GiveThemWhereTheKernelMovesPartOfARequest) {
  train::Workload workload = gpt2({});
  const FiledStep step(workload, little_memory(workload));
  std::atomic<int> shortened = 0;
  const train::SessionOptions options{.engines =
                                          testing::alter_file_requests([&](int request, bool, std::int32_t result) {
                                            if (request % 3 != 0 || result <= 4096) return result;
                                            ++shortened;
                                            return result / 2 + 100;  // not a block's end
                                          })};
  EXPECT_TRUE(train(workload, step.machine, step.plan, kSteps, kOnFileRate, options) ==
              train(workload, step.machine, step.plan, kSteps, kOnFileRate));
  EXPECT_GT(shortened, 10);
}

struct FileFault {
  std::string name;
  bool writes = false;
  std::int32_t result = 0;
  ErrorCode code = ErrorCode::kIo;
  std::string message;
};

class FaultOfTheFile : public ::testing::TestWithParam<FileFault> {};

// Trains from a checkpoint on, or from the start where there is none.
std::unique_ptr<train::Session> start(train::Workload& workload, const FiledStep& step, const std::string& checkpoint,
                                      const train::SessionOptions& options = {}) {
  auto session = train::Session::create(workload, step.machine, step.plan, options).value();
  if (std::filesystem::exists(checkpoint)) {
    EXPECT_EQ(session->load_checkpoint(checkpoint).value(), kSavedAt);
  }
  return session;
}

TEST_P(FaultOfTheFile, InMidStepEndsItAndTheCheckpointGoesOn) {
  train::Workload workload = gpt2({});
  const FiledStep step(workload, little_memory(workload));
  const std::string expected = train(workload, step.machine, step.plan, kSteps, kOnFileRate).parameter_hash;
  const TemporaryFolder folder;
  const std::string checkpoint = folder.file("run.ckpt");
  std::atomic<int> requests = 0, fails_at = 1 << 30;
  const auto fault = [&](int request, bool writes, std::int32_t result) {
    ++requests;
    return request >= fails_at && writes == GetParam().writes ? GetParam().result : result;
  };
  {
    const auto session = start(workload, step, checkpoint, {.engines = testing::alter_file_requests(fault)});
    for (std::int64_t at = 0; at < kSavedAt; ++at) ASSERT_TRUE(session->run_step(at, kOnFileRate).ok());
    ASSERT_TRUE(session->save_checkpoint(checkpoint, kSavedAt).ok());
    const std::string saved = read_text(checkpoint);
    fails_at = requests + requests / static_cast<int>(kSavedAt) / 2;  // half a step's
    const auto failed = session->run_step(kSavedAt, kOnFileRate);
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code, GetParam().code);
    EXPECT_THAT(failed.error().message, HasSubstr("of tier 'file': " + GetParam().message));
    EXPECT_FALSE(session->run_step(kSavedAt, kOnFileRate).ok());
    EXPECT_FALSE(session->save_checkpoint(checkpoint, kSavedAt).ok()) << "of a step half done";
    EXPECT_EQ(read_text(checkpoint), saved);
  }
  const auto session = start(workload, step, checkpoint);
  for (std::int64_t at = kSavedAt; at < kSteps; ++at) ASSERT_TRUE(session->run_step(at, kOnFileRate).ok());
  EXPECT_EQ(session->hash_parameters().value(), expected);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1) << "nothing half written stays";
}

INSTANTIATE_TEST_SUITE_P(Kinds, FaultOfTheFile,
                         ::testing::Values(FileFault{"ReadFails", false, -EIO, ErrorCode::kIo, "Input/output error"},
                                           FileFault{"WriteFails", true, -EIO, ErrorCode::kIo, "Input/output error"},
                                           FileFault{"IsFull", true, -ENOSPC, ErrorCode::kOutOfSpace,
                                                     "No space left on device"},
                                           FileFault{"EndsEarly", false, 0, ErrorCode::kIo, "it ended early"},
                                           FileFault{"TakesNothing", true, 0, ErrorCode::kIo, "it ended early"}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace sluice::tests
