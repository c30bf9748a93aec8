// What plans choose beside places leaves the bits of everything in fast memory: kernels, slices, processors, orders,
// repetitions, encodings.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "sluice/experiment/encoding_profiling.hpp"
#include "sluice/plan/op_choices.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/program/program.hpp"
#include "sluice/testing/float_bits.hpp"
#include "sluice/train/planning/estimated_profile.hpp"
#include "tests/e2e/trained_run.hpp"

namespace sluice::tests {
namespace {

constexpr std::int64_t kChosenSteps = 3;

// Kernels that round differently: the bits are those of everything in fast memory with the same kernels.
TEST(KernelsTest, ChosenOnesHaveTheBitsOfFastOnlyWithTheSame) {
  train::WorkloadOptions options;
  options.model = "vgg11";
  options.shape = {.batch = 4, .image_size = 64, .classes = 10};
  train::Workload workload = test_workload(options);
  const memory::Machine machine = test_machine(1, {"file"});
  profile::Profile profile = train::estimated_profile(workload.graph(), machine);
  for (graph::OpIndex op = 0; op < workload.graph().op_count();
       ++op) {  // so that a step waits for kernels, not for copies
    if (workload.graph().op(op).implementations.size() > 1) profile.op_seconds[op] = 0.2;
  }
  profile::OpTimes faster{profile.op_seconds, {}};
  for (Seconds& seconds : faster.warm) seconds /= 2;
  profile.choices[{1, kMainProcessor}] = std::make_shared<profile::OpTimes>(std::move(faster));
  const train::FastBudget fast{.size = parse_memory_size("40%").value(), .raise_to_feasible = true};
  const Result<plan::Plan> plan = train::plan_workload(workload, machine, profile, "kernel-choice", fast);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_GT(plan::count_choices(*plan).other_kernels, 0) << "or this shows nothing";
  const TrainedRun run = train(workload, machine, *plan, kChosenSteps, 1e-3F);
  const TrainedRun first =
      train(workload, machine, *test_plan(workload, machine, "fast-only", "100%"), kChosenSteps, 1e-3F);
  EXPECT_FALSE(run == first) << "these kernels round alike: choose others for this test";
  workload.choices = plan::choices_by_op(*plan, workload.graph()).value();
  const TrainedRun same =
      train(workload, machine, *test_plan(workload, machine, "fast-only", "100%"), kChosenSteps, 1e-3F);
  EXPECT_TRUE(run == same);
}

// Sums over slices round in another order, so finer slices have bits of their own: those of everything in fast memory.
TEST(FinerSlicesTest, TrainWhereUsualOnesDoNotFit) {
  train::WorkloadOptions options;
  options.model = "mobilenet_v2";
  options.shape = {.batch = 16, .image_size = 96, .classes = 10};
  const train::Workload usual = test_workload(options);
  options.finer_slices = 4;
  train::Workload finer = test_workload(options);
  const memory::Machine machine = test_machine(1, {"file"});
  const TrainedRun expected = train(finer, machine, *test_plan(finer, machine, "fast-only", "100%"), kChosenSteps);
  ASSERT_TRUE(std::isfinite(expected.losses.back()));
  const std::string fast = std::to_string(plan::largest_working_set(usual.graph()) * 3 / 4 / kMiB) + "MiB";
  for (const std::string planner : {"sentinel", "joint"}) {
    SCOPED_TRACE(planner + " " + fast);
    const Result<plan::Plan> plan = test_plan(finer, machine, planner, fast);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_TRUE(train(finer, machine, *plan, kChosenSteps) == expected);
  }
}

// As many threads, the same bits: a second processor like the first one changes nothing but when ops run.
TEST(ProcessorsTest, ThatAreAlikeComputeTheBitsOfOne) {
  train::WorkloadOptions resnet;
  resnet.model = "resnet20";
  resnet.shape.batch = 4;
  const Processors with_host{.host_threads = 1};
  train::Workload alone = workload_on(resnet, {});
  train::Workload shared = workload_on(resnet, with_host);
  const memory::Machine one = machine_of({}, {"file"});
  const memory::Machine two = machine_of(with_host, {"file"});
  const TrainedRun expected = train(alone, one, *test_plan(alone, one, "fast-only", "100%"), kChosenSteps);
  EXPECT_TRUE(train(shared, two, *test_plan(shared, two, "sentinel", "40%"), kChosenSteps) == expected);
}

// A network whose dense layers are most of it: plans that really run ops in another order, or again.
plan::Plan scheduled_plan(const train::Workload& workload, const memory::Machine& machine, const std::string& planner) {
  profile::Profile profile;
  profile.graph_fingerprint = workload.graph().fingerprint();
  profile.compute_fingerprint = machine.compute_fingerprint();
  for (const graph::Op& op : workload.graph().ops()) {
    profile.op_seconds.push_back(to_string(op.kind).starts_with("conv2d") ? 0.02 : 1e-4);
  }
  MemorySize fast = parse_memory_size("30%").value();
  Result<plan::Plan> plan =
      train::plan_workload(workload, machine, profile, planner, {.size = fast, .raise_to_feasible = true});
  SLUICE_CHECK(plan.ok(), plan.error().message);
  return std::move(*plan);
}

class ScheduledTest : public ::testing::TestWithParam<int> {};

TEST_P(ScheduledTest, OtherOrdersAndRepetitionsLeaveTheBits) {
  train::WorkloadOptions options;
  options.model = "vgg11";
  options.shape = {.batch = 2, .image_size = 32, .classes = 10};
  options.threads = GetParam();
  train::Workload workload = test_workload(options);
  const memory::Machine host = test_machine(GetParam(), {"file"});
  const TrainedRun expected =
      train(workload, host, *test_plan(workload, host, "fast-only", "100%"), kChosenSteps, 1e-3F);
  ASSERT_TRUE(std::isfinite(expected.losses.back()));
  for (const std::string planner : {"deferred-updates", "chen-sqrt"}) {
    SCOPED_TRACE(planner);
    const plan::Plan plan = scheduled_plan(workload, host, planner);
    EXPECT_FALSE(plan.schedule.empty()) << "or this shows nothing";
    EXPECT_EQ(plan.schedule.size() > workload.graph().ops().size(), planner == "chen-sqrt");
    const TrainedRun run = train(workload, host, plan, kChosenSteps, 1e-3F);
    EXPECT_EQ(testing::bits_of(run.losses), testing::bits_of(expected.losses));
    EXPECT_EQ(run.parameter_hash, expected.parameter_hash);
  }
}

// What a step's transfers would move if nothing were encoded.
Bytes raw_bytes(const program::Program& program) {
  Bytes sum = 0;
  for (const program::TransferInstruction& transfer : program.transfers) sum += transfer.bytes;
  return sum;
}

// What ReLU leaves is half zeros, and where a pool found its values takes four bits: encoded on the way to a slow file,
// both come back with the same bits.
TEST(EncodedTest, EncodingLeavesTheBitsAndMovesFewerBytes) {
  const std::vector<std::string> planners{"sentinel:additions=choice+staying+in-place+ahead+lending",
                                          "sentinel:additions=choice+staying+in-place+ahead+lending+encode"};
  train::WorkloadOptions options;
  options.model = "squeezenet1_1";
  options.shape = {.batch = 16, .image_size = 128, .classes = 10};
  train::Workload workload = test_workload(options);
  memory::Machine machine = test_machine(1, {"file"});
  for (memory::Link& link : machine.links) {
    link.throttled = true;
    link.bandwidth = 2e8;
  }
  profile::Profile profile = train::estimated_profile(workload.graph(), machine);
  const auto folder = std::filesystem::path(::testing::TempDir()) / "encoded_same_bits";
  profile::ProfileCache cache = profile::ProfileCache::open("test", folder);
  const train::FastBudget fast{.size = parse_memory_size("40%").value(), .raise_to_feasible = true};
  cache.put_encodings(workload.graph().fingerprint(), {.encoded_bytes = {1}});  // of a damaged file: measured again
  ASSERT_TRUE(experiment::add_encodings(workload, machine, fast, {}, cache, profile).ok());
  ASSERT_NE(profile.encodings, nullptr);
  ASSERT_EQ(profile.encodings->encoded_bytes.size(), workload.graph().tensors().size());
  EXPECT_NE(profile::ProfileCache::open("test", folder).find_encodings(workload.graph().fingerprint()), nullptr);
  std::filesystem::remove_all(folder);
  profile::EncodingFigures figures = *profile.encodings;
  figures.zero_value = figures.narrow = {20e9, 20e9};  // whatever else this machine is doing
  profile.encodings = std::make_shared<profile::EncodingFigures>(figures);
  const TrainedRun expected =
      train(workload, machine, *test_plan(workload, machine, "fast-only", "100%"), kChosenSteps);
  for (const bool encodes : {false, true}) {
    SCOPED_TRACE(encodes);
    const Result<plan::Plan> plan = train::plan_workload(workload, machine, profile, planners[encodes ? 1 : 0], fast);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    const TrainedRun run = train(workload, machine, *plan, kChosenSteps);
    EXPECT_EQ(testing::bits_of(run.losses), testing::bits_of(expected.losses));
    EXPECT_EQ(run.parameter_hash, expected.parameter_hash);
    const Bytes raw = raw_bytes(program::lower_plan(workload.graph(), machine, *plan).value());
    if (encodes) {
      EXPECT_LT(run.bytes_moved, raw * 4 / 5);
    } else {
      EXPECT_EQ(run.bytes_moved, raw);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, ScheduledTest, ::testing::Values(1, 2));

}  // namespace
}  // namespace sluice::tests
