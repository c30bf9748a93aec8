// Who takes which turn, and what is said of contestants that are not alike: with workers that compute nothing.
#include "sluice/experiment/comparison.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <set>

#include "sluice/memory/presets.hpp"
#include "sluice/planners/schedule/keep_what_fits.hpp"
#include "sluice/testing/scripted_worker.hpp"
#include "sluice/train/planning/estimated_profile.hpp"

namespace sluice::experiment {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using testing::ScriptedWorkers;
using testing::WorkerScript;

class ComparisonTest : public ::testing::Test {
 protected:
  ComparisonTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sluice_comparison_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~ComparisonTest() override { std::filesystem::remove_all(folder_); }

  // Op times whose sum is `step` for the baseline, which has memory to keep what other plans make again.
  profile::Profile profile_of(Seconds step) const {
    profile::Profile profile = train::estimated_profile(workload_.graph(), machine_);
    const auto ops =
        planners::keep_what_fits(workload_.graph(), profile, machine_.tier(memory::kFastTier).capacity).size();
    for (Seconds& seconds : profile.op_seconds) seconds = step / static_cast<double>(ops);
    return profile;
  }

  Result<ComparisonResult> compare(const testing::ScriptedWorkers& workers, ComparisonOptions options = {}) {
    if (options.planners.empty()) options.planners = {"slow-only", "on-demand"};
    options.fast = {*parse_memory_size("60%")};
    options.trials = 0;
    options.worker = workers.program();
    return compare_planners(
        workload_, machine_, profile_of(1), options, [](std::string_view, std::int64_t, std::int64_t) {},
        [] { return false; });
  }

  std::filesystem::path folder_;
  train::Workload workload_ = train::build_workload({.model = "resnet20", .shape = {.batch = 2}}).value();
  memory::Machine machine_ = [] {
    memory::Machine machine = memory::make_machine({.threads = 1, .slow = {{"optane"}}}).value();
    machine.cache_bytes = kMiB;  // some hosts' caches hold all of this model
    return machine;
  }();
};

TEST_F(ComparisonTest, TheOrderRotatesFromRoundToRound) {
  const testing::ScriptedWorkers workers(folder_, {});
  const auto result = compare(workers, {.steps = 4});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->steps, 4);
  const std::vector<std::string> turns = workers.turns();
  constexpr std::ptrdiff_t kJudgingOpTimes = 5;
  ASSERT_GT(std::ssize(turns), kJudgingOpTimes);
  EXPECT_THAT(std::vector(turns.begin(), turns.begin() + kJudgingOpTimes), Each("fast-only"));
  EXPECT_THAT(std::vector(turns.begin() + kJudgingOpTimes, turns.end()),
              ElementsAre("fast-only", "slow-only", "on-demand",  //
                          "slow-only", "on-demand", "fast-only",  //
                          "on-demand", "fast-only", "slow-only",  //
                          "fast-only", "slow-only", "on-demand"));
}

// Each start has processes of its own: the shell's number, `$$`, is in what a step leaves behind.
TEST_F(ComparisonTest, EveryStartHasProcessesOfItsOwn) {
  const std::string processes = folder_ / "processes";
  const testing::ScriptedWorkers workers(folder_, {.at_step = "echo $$ >>" + processes});
  const auto result = compare(workers, {.planners = {"on-demand"}, .steps = 4, .starts = 3});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->starts, 3);
  for (const ComparisonRow& row : result->rows) {
    EXPECT_EQ(row.rounds.size(), 3U * 2U);
    EXPECT_EQ(row.slowdown_of_starts.size(), 3U);
    EXPECT_EQ(row.loss_bits.size(), 4U) << "each start is the same training";
  }
  std::ifstream file(processes);
  const std::set<std::string> different{std::istream_iterator<std::string>(file), {}};
  EXPECT_EQ(different.size(), 1 + 2 * 3U) << "one judged the op times";
}

TEST_F(ComparisonTest, AtLeastOneProcessIsStarted) {
  const auto result = compare(testing::ScriptedWorkers(folder_, {}), {.starts = 0});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kBadInput);
}

TEST_F(ComparisonTest, ContestantsThatDifferAreFound) {
  const testing::ScriptedWorkers workers(folder_, {},
                                         {{"slow-only", testing::WorkerScript{.parameter_hash = "00fe"}},
                                          {"on-demand", testing::WorkerScript{.loss_bits = "1065353217"}}});
  const auto result = compare(workers, {.steps = 3});
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result->rows.size(), 3U);
  EXPECT_TRUE(result->rows[0].same_bits());
  EXPECT_TRUE(result->rows[1].same_losses);
  EXPECT_FALSE(result->rows[1].same_parameters);
  EXPECT_FALSE(result->rows[2].same_losses);
  EXPECT_TRUE(result->rows[2].same_parameters);
  EXPECT_FALSE(result->same_bits());
}

TEST_F(ComparisonTest, AContestantThatDiesHasTheReasonAndTheOthersGoOn) {
  const testing::ScriptedWorkers workers(folder_, {}, {{"on-demand", testing::WorkerScript{.at_step = "kill -9 $$"}}});
  const auto result = compare(workers, {.steps = 3});
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_TRUE(result->rows[2].failure);
  EXPECT_THAT(result->rows[2].failure->message, ::testing::HasSubstr("signal 9"));
  EXPECT_EQ(result->rows[1].rounds.size(), 1U);
  EXPECT_TRUE(result->same_bits());
}

TEST_F(ComparisonTest, OpTimesOfAnotherMomentAreMeasuredAgainOnce) {
  const testing::ScriptedWorkers workers(folder_, {.step_seconds = 0.5});
  int measured = 0;
  const auto again = [&]() -> Result<profile::Profile> {
    ++measured;
    return profile_of(0.6);
  };
  const auto result = compare(workers, {.steps = 3, .measure_again = again});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(measured, 1) << "once, though the new ones are off too";
  EXPECT_TRUE(result->profile.measured_again);
  EXPECT_NEAR(result->profile.error, 1, 1e-6) << "1 s predicted, 0.5 s measured";
  EXPECT_NEAR(*result->profile.error_after, 0.2, 1e-6);
  EXPECT_NEAR(result->rows[0].plan().predicted_step_seconds, 0.6, 1e-6) << "all rows are planned with the new ones";
  EXPECT_GT(result->rows[1].predicted_slowdown, 1);
}

TEST_F(ComparisonTest, OpTimesThatFitOrWereGivenAreKept) {
  const auto never = []() -> Result<profile::Profile> { return Error{ErrorCode::kIo, "measured"}; };
  const auto fitting =
      compare(testing::ScriptedWorkers(folder_, {.step_seconds = 1.04}), {.steps = 3, .measure_again = never});
  ASSERT_TRUE(fitting.ok()) << fitting.error().message;
  EXPECT_FALSE(fitting->profile.measured_again);
  EXPECT_FALSE(fitting->profile.error_after);
  const auto given = compare(testing::ScriptedWorkers(folder_, {.step_seconds = 0.5}), {.steps = 3});
  ASSERT_TRUE(given.ok()) << given.error().message;
  EXPECT_FALSE(given->profile.measured_again);
  EXPECT_NEAR(given->profile.error, 1, 1e-6);
}

TEST_F(ComparisonTest, ShortStepsGetMoreRounds) {
  EXPECT_EQ(default_rounds(0.49), kWarmupRounds + 7);
  EXPECT_EQ(default_rounds(0.5), kWarmupRounds + 3);
  const auto result = compare(testing::ScriptedWorkers(folder_, {.step_seconds = 0.1}));
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->rows[0].rounds.size(), 7U);
}

// A pass every 5 s and steps of 1 s: 40 steps for eight passes, and then from the beginning.
TEST_F(ComparisonTest, APolicySettlesBeforeTheFirstRound) {
  const testing::ScriptedWorkers workers(folder_, {});
  const auto result = compare(workers, {.planners = {"oim", "numa-first-touch"}, .steps = 3});
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_FALSE(result->rows[1].failure) << result->rows[1].failure->message;
  EXPECT_EQ(result->rows[1].policy->settling_steps, 40);
  EXPECT_EQ(result->rows[2].policy->settling_steps, 0) << "it makes no passes";
  const std::vector<std::string> turns = workers.turns();
  EXPECT_EQ(std::ranges::count(turns, "oim"), 40 + 3);
  EXPECT_EQ(std::ranges::count(turns, "restart oim"), 1);
  EXPECT_EQ(std::ranges::count(turns, "numa-first-touch"), 3);
}

}  // namespace
}  // namespace sluice::experiment
