// The promise: the loss of every step and every parameter at the end are the same bits, whatever the planner, the
// budget and the slow tier, for each number of threads against its own run with everything in fast memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "sluice/experiment/encoding_profiling.hpp"
#include "sluice/plan/op_choices.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/registry/registry.hpp"
#include "sluice/program/program.hpp"
#include "sluice/testing/float_bits.hpp"
#include "sluice/train/estimated_profile.hpp"
#include "tests/e2e/trained_run.hpp"

namespace sluice {
namespace {

constexpr std::int64_t kComparedSteps = 3;

struct Case {
  std::string model;
  int threads = 1;
  std::vector<std::string> budgets;
  int host_threads = 0;  // of a second processor; 0: there is none
  std::string host_backend{kDefaultBackend};
};

Workload workload_of(const Case& of) {
  WorkloadOptions options;
  options.model = of.model;
  options.shape.batch = 4;
  options.threads = of.threads;
  if (of.host_threads == 0) return test_workload(options);
  options.other_processors = {{of.host_threads, of.host_backend}};
  Workload workload = test_workload(options);
  // The host updates, and takes a third of all else that it has kernels for.
  for (OpIndex index = 0; index < workload.graph().op_count(); ++index) {
    const Op& op = workload.graph().op(index);
    const bool host = (op.phase == Phase::kUpdate || index % 3 == 1) && op.no_kernel_on.empty();
    workload.choices.push_back({0, host ? 1 : kMainProcessor});
  }
  return workload;
}

Machine machine_of(const Case& of, const std::vector<std::string>& slow) {
  Machine machine = test_machine(of.threads, slow);
  if (of.host_threads == 0) return machine;
  SLUICE_CHECK(
      add_processors({{"device", of.threads, {}}, {"host", of.host_threads, {}, of.host_backend}}, machine).ok(),
      "two of them");
  return machine;
}

// Planners, and on a tier that ops can address the same as published, without our additions; on one that they cannot,
// the three ways in which Sentinel-GPU triggers migration.
std::vector<std::string> contestants(const std::string& nearest) {
  std::vector<std::string> names;
  for (const PlannerEntry& planner : planners()) {
    names.emplace_back(planner.name);
    if (nearest == "optane" && !planner.additions.empty()) names.push_back(names.back() + ":additions=none");
  }
  if (nearest == "pcie3") {
    for (const char* way : {"direct", "intervals", "all"}) {
      names.push_back(std::string("sentinel:additions=none:migration=") + way);
    }
  }
  return names;
}

class SameBitsTest : public ::testing::TestWithParam<Case> {};

TEST_P(SameBitsTest, OverPlannersBudgetsAndTiers) {
  Workload workload = workload_of(GetParam());
  const Machine host = machine_of(GetParam(), {"file"});
  const Plan all_fast = *test_plan(workload, host, "fast-only", "100%");
  const auto on_host = std::ranges::count(all_fast.ops, 1, &OpPlacement::processor);
  EXPECT_EQ(on_host > 0, GetParam().host_threads > 0);
  const TrainedRun expected = train(workload, host, all_fast, kComparedSteps);
  ASSERT_TRUE(std::isfinite(expected.losses.back()));
  ASSERT_NE(expected.losses.front(), expected.losses.back());
  int runs = 0;
  int moving = 0;
  const std::vector<std::vector<std::string>> tiers{
      {"file"}, {"optane"}, {"pcie3"}, {"optane:1MiB", "pmbd:1MiB", "file"}};
  for (const std::vector<std::string>& slow : tiers) {
    const Machine machine = machine_of(GetParam(), slow);
    for (const std::string& planner : contestants(slow.front())) {
      for (const std::string& fast : GetParam().budgets) {
        SCOPED_TRACE(::testing::PrintToString(slow) + " " + planner + " " + fast);
        const Result<Plan> plan = test_plan(workload, machine, planner, fast);
        if (!plan.ok()) {
          EXPECT_TRUE(wants_more_room(plan.error().code) || plan.error().code == ErrorCode::kUnsupported ||
                      plan.error().code == ErrorCode::kBadInput)
              << plan.error().message;
          continue;
        }
        EXPECT_EQ(std::ranges::count(plan->ops, 1, &OpPlacement::processor) > 0, on_host > 0);
        const TrainedRun run = train(workload, machine, *plan, kComparedSteps);
        EXPECT_EQ(testing::bits_of(run.losses), testing::bits_of(expected.losses));
        EXPECT_EQ(run.parameter_hash, expected.parameter_hash);
        ++runs;
        moving += run.bytes_moved > 0 ? 1 : 0;
      }
    }
  }
  // Of ten planners on four machines, slow-only and first-touch can use one, or two where the memories are large
  // enough; the others can use all, but chen-sqrt fits into the larger budgets only. Beside them run two as published.
  const auto budgets = static_cast<int>(GetParam().budgets.size());
  EXPECT_GE(runs, 14 * budgets) << "too few combinations could be planned for this test to mean much";
  EXPECT_GE(moving, 9 * budgets);
}

INSTANTIATE_TEST_SUITE_P(Models, SameBitsTest,
                         ::testing::Values(Case{"resnet20", 1, {"75%", "45%", "30%"}},
                                           Case{"resnet20", 2, {"60%", "30%"}}, Case{"plain20", 1, {"60%", "35%"}},
                                           Case{"plain20", 2, {"45%"}}, Case{"resnet20", 1, {"60%", "30%"}, 1},
                                           Case{"resnet20", 2, {"45%"}, 1}, Case{"plain20", 1, {"45%"}, 2},
                                           Case{"plain20", 2, {"60%"}, 2},
                                           Case{"resnet20", 1, {"45%"}, 1, "reference"}),
                         [](const auto& instance) {
                           const Case& of = instance.param;
                           std::string host = of.host_threads > 0 ? "_host" + std::to_string(of.host_threads) : "";
                           if (of.host_backend != kDefaultBackend) host += "_" + of.host_backend;
                           return of.model + "_" + std::to_string(of.threads) + "threads" + host;
                         });

// Kernels that round differently: the bits are those of everything in fast memory with the same kernels.
TEST(KernelsTest, ChosenOnesHaveTheBitsOfFastOnlyWithTheSame) {
  WorkloadOptions options;
  options.model = "vgg11";
  options.shape = {.batch = 4, .image_size = 64, .classes = 10};
  Workload workload = test_workload(options);
  const Machine machine = test_machine(1, {"file"});
  Profile profile = estimated_profile(workload.graph(), machine);
  for (OpIndex op = 0; op < workload.graph().op_count(); ++op) {  // so that a step waits for kernels, not for copies
    if (workload.graph().op(op).implementations.size() > 1) profile.op_seconds[op] = 0.2;
  }
  OpTimes faster{profile.op_seconds, {}};
  for (Seconds& seconds : faster.warm) seconds /= 2;
  profile.choices[{1, kMainProcessor}] = std::make_shared<OpTimes>(std::move(faster));
  const FastBudget fast{.size = parse_memory_size("40%").value(), .raise_to_feasible = true};
  const Result<Plan> plan = plan_workload(workload, machine, profile, "kernel-choice", fast);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_GT(count_choices(*plan).other_kernels, 0) << "or this shows nothing";
  const TrainedRun run = train(workload, machine, *plan, kComparedSteps, 1e-3F);
  const TrainedRun first =
      train(workload, machine, *test_plan(workload, machine, "fast-only", "100%"), kComparedSteps, 1e-3F);
  EXPECT_FALSE(run == first) << "these kernels round alike: choose others for this test";
  workload.choices = choices_by_op(*plan, workload.graph()).value();
  const TrainedRun same =
      train(workload, machine, *test_plan(workload, machine, "fast-only", "100%"), kComparedSteps, 1e-3F);
  EXPECT_TRUE(run == same);
}

// Sums over slices round in another order, so finer slices have bits of their own: those of everything in fast memory.
TEST(FinerSlicesTest, TrainWhereUsualOnesDoNotFit) {
  WorkloadOptions options;
  options.model = "mobilenet_v2";
  options.shape = {.batch = 16, .image_size = 96, .classes = 10};
  const Workload usual = test_workload(options);
  options.finer_slices = 4;
  Workload finer = test_workload(options);
  const Machine machine = test_machine(1, {"file"});
  const TrainedRun expected = train(finer, machine, *test_plan(finer, machine, "fast-only", "100%"), kComparedSteps);
  ASSERT_TRUE(std::isfinite(expected.losses.back()));
  const std::string fast = std::to_string(largest_working_set(usual.graph()) * 3 / 4 / kMiB) + "MiB";
  for (const std::string planner : {"sentinel", "joint"}) {
    SCOPED_TRACE(planner + " " + fast);
    const Result<Plan> plan = test_plan(finer, machine, planner, fast);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_TRUE(train(finer, machine, *plan, kComparedSteps) == expected);
  }
}

// As many threads, the same bits: a second processor like the first one changes nothing but when ops run.
TEST(ProcessorsTest, ThatAreAlikeComputeTheBitsOfOne) {
  Workload alone = workload_of({"resnet20", 1, {}});
  Workload shared = workload_of({"resnet20", 1, {}, 1});
  const Machine one = machine_of({"resnet20", 1, {}}, {"file"});
  const Machine two = machine_of({"resnet20", 1, {}, 1}, {"file"});
  const TrainedRun expected = train(alone, one, *test_plan(alone, one, "fast-only", "100%"), kComparedSteps);
  EXPECT_TRUE(train(shared, two, *test_plan(shared, two, "sentinel", "40%"), kComparedSteps) == expected);
}

// A network whose dense layers are most of it: plans that really run ops in another order, or again.
Plan scheduled_plan(const Workload& workload, const Machine& machine, const std::string& planner) {
  Profile profile;
  profile.graph_fingerprint = workload.graph().fingerprint();
  profile.compute_fingerprint = machine.compute_fingerprint();
  for (const Op& op : workload.graph().ops()) {
    profile.op_seconds.push_back(to_string(op.kind).starts_with("conv2d") ? 0.02 : 1e-4);
  }
  MemorySize fast = parse_memory_size("30%").value();
  Result<Plan> plan = plan_workload(workload, machine, profile, planner, {.size = fast, .raise_to_feasible = true});
  SLUICE_CHECK(plan.ok(), plan.error().message);
  return std::move(*plan);
}

class ScheduledTest : public ::testing::TestWithParam<int> {};

TEST_P(ScheduledTest, OtherOrdersAndRepetitionsLeaveTheBits) {
  WorkloadOptions options;
  options.model = "vgg11";
  options.shape = {.batch = 2, .image_size = 32, .classes = 10};
  options.threads = GetParam();
  Workload workload = test_workload(options);
  const Machine host = test_machine(GetParam(), {"file"});
  const TrainedRun expected =
      train(workload, host, *test_plan(workload, host, "fast-only", "100%"), kComparedSteps, 1e-3F);
  ASSERT_TRUE(std::isfinite(expected.losses.back()));
  for (const std::string planner : {"deferred-updates", "chen-sqrt"}) {
    SCOPED_TRACE(planner);
    const Plan plan = scheduled_plan(workload, host, planner);
    EXPECT_FALSE(plan.schedule.empty()) << "or this shows nothing";
    EXPECT_EQ(plan.schedule.size() > workload.graph().ops().size(), planner == "chen-sqrt");
    const TrainedRun run = train(workload, host, plan, kComparedSteps, 1e-3F);
    EXPECT_EQ(testing::bits_of(run.losses), testing::bits_of(expected.losses));
    EXPECT_EQ(run.parameter_hash, expected.parameter_hash);
  }
}

// What a step's transfers would move if nothing were encoded.
Bytes raw_bytes(const Program& program) {
  Bytes sum = 0;
  for (const TransferInstruction& transfer : program.transfers) sum += transfer.bytes;
  return sum;
}

// What ReLU leaves is half zeros, and where a pool found its values takes four bits: encoded on the way to a slow file,
// both come back with the same bits.
TEST(EncodedTest, EncodingLeavesTheBitsAndMovesFewerBytes) {
  const std::vector<std::string> planners{"sentinel:additions=choice+staying+in-place+ahead+lending",
                                          "sentinel:additions=choice+staying+in-place+ahead+lending+encode"};
  WorkloadOptions options;
  options.model = "squeezenet1_1";
  options.shape = {.batch = 16, .image_size = 128, .classes = 10};
  Workload workload = test_workload(options);
  Machine machine = test_machine(1, {"file"});
  for (Link& link : machine.links) {
    link.throttled = true;
    link.bandwidth = 2e8;
  }
  Profile profile = estimated_profile(workload.graph(), machine);
  const auto folder = std::filesystem::path(::testing::TempDir()) / "encoded_same_bits";
  ProfileCache cache = ProfileCache::open("test", folder);
  const FastBudget fast{.size = parse_memory_size("40%").value(), .raise_to_feasible = true};
  cache.put_encodings(workload.graph().fingerprint(), {.encoded_bytes = {1}});  // of a damaged file: measured again
  ASSERT_TRUE(add_encodings(workload, machine, fast, {}, cache, profile).ok());
  ASSERT_NE(profile.encodings, nullptr);
  ASSERT_EQ(profile.encodings->encoded_bytes.size(), workload.graph().tensors().size());
  EXPECT_NE(ProfileCache::open("test", folder).find_encodings(workload.graph().fingerprint()), nullptr);
  std::filesystem::remove_all(folder);
  EncodingFigures figures = *profile.encodings;
  figures.zero_value = figures.narrow = {20e9, 20e9};  // whatever else this machine is doing
  profile.encodings = std::make_shared<EncodingFigures>(figures);
  const TrainedRun expected =
      train(workload, machine, *test_plan(workload, machine, "fast-only", "100%"), kComparedSteps);
  for (const bool encodes : {false, true}) {
    SCOPED_TRACE(encodes);
    const Result<Plan> plan = plan_workload(workload, machine, profile, planners[encodes ? 1 : 0], fast);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    const TrainedRun run = train(workload, machine, *plan, kComparedSteps);
    EXPECT_EQ(testing::bits_of(run.losses), testing::bits_of(expected.losses));
    EXPECT_EQ(run.parameter_hash, expected.parameter_hash);
    const Bytes raw = raw_bytes(lower_plan(workload.graph(), machine, *plan).value());
    if (encodes) {
      EXPECT_LT(run.bytes_moved, raw * 4 / 5);
    } else {
      EXPECT_EQ(run.bytes_moved, raw);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, ScheduledTest, ::testing::Values(1, 2));

}  // namespace
}  // namespace sluice
