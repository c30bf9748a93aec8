#include "sluice/experiment/comparison_result.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace sluice::experiment {
namespace {

constexpr std::uint32_t kPlusZero = 0;
constexpr std::uint32_t kMinusZero = 0x80000000;  // equal as a float
constexpr std::uint32_t kNan = 0x7fc00000;        // not equal to itself as a float

memory::Machine two_tiers() {
  memory::Machine machine;
  machine.tiers.resize(2);
  machine.links = {{.from = 1, .to = 0}, {.from = 0, .to = 1}};
  return machine;
}

// Two warm-up steps that must not count, then `seconds`.
WorkerRun run_of(const std::vector<Seconds>& seconds, std::uint32_t bits = kPlusZero) {
  WorkerRun run;
  for (int i = 0; i < kWarmupRounds; ++i) run.steps.push_back({bits, 100, 50, {1000, 1000}, {2000, 2000}});
  for (const Seconds each : seconds) run.steps.push_back({bits, each, each / 10, {10, 4}, {16, 5}});
  run.summary.parameter_hash = "aaaa";
  return run;
}

using Runs = std::vector<WorkerRun>;

ComparisonRow row_of(Seconds predicted) {
  ComparisonRow row;
  plan::Plan plan;
  plan.predicted_step_seconds = predicted;
  plan.lower_bound_seconds = 0.8;
  row.run = std::move(plan);
  return row;
}

TEST(ComparisonResultTest, RatiosAreOfTheSameRound) {
  const Runs base{run_of({1, 2, 4})};
  ComparisonRow row = row_of(1.5);
  add_measurements(row, Runs{run_of({2, 3, 4})}, row_of(1), base, two_tiers());
  EXPECT_EQ(row.rounds, (std::vector<Seconds>{2, 3, 4}));
  EXPECT_EQ(row.step_seconds.median, 3);
  EXPECT_EQ(row.slowdown.median, 1.5) << "of 2, 1.5 and 1";
  EXPECT_EQ(row.slowdown.q1, 1.25);
  EXPECT_EQ(row.slowdown.max, 2);
  EXPECT_EQ(row.bytes_in, 10) << "warm-up does not count";
  EXPECT_EQ(row.bytes_out, 4);
  EXPECT_EQ(row.raw_bytes_in, 16);
  EXPECT_EQ(row.raw_bytes_out, 5);
  EXPECT_DOUBLE_EQ(row.stall_seconds, 0.3);
}

// The machine is twice as slow as when op times were measured: the step's error says so, the ratio's does not.
TEST(ComparisonResultTest, DriftIsNoErrorOfTheRatio) {
  const ComparisonRow baseline = row_of(1);
  ComparisonRow row = row_of(1.5);
  add_measurements(row, Runs{run_of({3, 3, 3})}, baseline, Runs{run_of({2, 2, 2})}, two_tiers());
  EXPECT_DOUBLE_EQ(row.predicted_slowdown, 1.5);
  EXPECT_DOUBLE_EQ(row.ratio_error(), 0);
  EXPECT_DOUBLE_EQ(row.prediction_error(), -0.5);
  EXPECT_DOUBLE_EQ(row.bound_seconds, 1.6) << "0.8 at the moment of the rounds";
}

TEST(ComparisonResultTest, BytesBetweenSlowTiersAreNotOfFastMemory) {
  memory::Machine machine = two_tiers();
  for (const auto& [from, to] : {std::pair{2, 1}, std::pair{1, 2}}) {
    machine.links.push_back({.from = from, .to = to, .bandwidth = 1e9});
  }
  const MovedBytes traffic = traffic_of({kPlusZero, 1, 0, {10, 4, 100, 200}, {16, 5, 300, 400}}, machine);
  EXPECT_EQ(traffic.in + traffic.out, 14);
  EXPECT_EQ(traffic.raw_in + traffic.raw_out, 21);
}

TEST(ComparisonResultTest, LossesAreComparedByTheirBits) {
  const auto same_losses = [](std::uint32_t bits, std::uint32_t baseline) {
    ComparisonRow row = row_of(1);
    add_measurements(row, Runs{run_of({1}, bits)}, row_of(1), Runs{run_of({1}, baseline)}, two_tiers());
    EXPECT_TRUE(row.same_parameters);
    return row.same_losses && row.same_bits();
  };
  EXPECT_TRUE(same_losses(kPlusZero, kPlusZero));
  EXPECT_TRUE(same_losses(kNan, kNan));
  EXPECT_FALSE(same_losses(kMinusZero, kPlusZero));
  EXPECT_FALSE(same_losses(kNan, kNan + 1));
}

// The second process of this planner is slow for its life: the median of all rounds is hardly moved by it.
TEST(ComparisonResultTest, RoundsOfAllStartsCount) {
  const Runs base(3, run_of({1, 1}));
  ComparisonRow row = row_of(1);
  Runs runs{run_of({1.1, 1.2}), run_of({3, 3}), run_of({1, 1.3})};
  runs[1].summary.peak_rss_bytes = 77;
  add_measurements(row, runs, row_of(1), base, two_tiers());
  EXPECT_EQ(row.rounds, (std::vector<Seconds>{1.1, 1.2, 3, 3, 1, 1.3}));
  EXPECT_EQ(row.slowdown.median, 1.25);
  EXPECT_EQ(row.slowdown_of_starts, (std::vector<double>{1.15, 3, 1.15}));
  EXPECT_EQ(row.bytes_in, 10);
  EXPECT_EQ(row.peak_rss_bytes, 77);
  EXPECT_TRUE(row.same_bits());
}

TEST(ComparisonResultTest, EveryStartMustHaveTheSameBits) {
  const Runs base(2, run_of({1}));
  Runs runs = base;
  runs[1].steps[1].loss_bits = kMinusZero;
  ComparisonRow losses = row_of(1);
  add_measurements(losses, runs, row_of(1), base, two_tiers());
  EXPECT_FALSE(losses.same_losses);
  EXPECT_TRUE(losses.same_parameters);
  ComparisonRow baseline = row_of(1);
  add_measurements(baseline, runs, baseline, runs, two_tiers());
  EXPECT_FALSE(baseline.same_losses) << "fast-only too must do the same in every process";
  runs[1] = base[1];
  runs[1].summary.parameter_hash = "aaab";
  ComparisonRow parameters = row_of(1);
  add_measurements(parameters, runs, row_of(1), base, two_tiers());
  EXPECT_FALSE(parameters.same_parameters);
}

TEST(ComparisonResultTest, OneStepThatDiffersIsEnough) {
  WorkerRun run = run_of({1, 1, 1});
  run.steps[0].loss_bits = kMinusZero;  // of the warm-up
  ComparisonRow row = row_of(1);
  add_measurements(row, Runs{run}, row_of(1), Runs{run_of({1, 1, 1})}, two_tiers());
  EXPECT_FALSE(row.same_losses);
  EXPECT_TRUE(row.same_parameters);
  EXPECT_TRUE(std::signbit(row.loss(0)));
}

TEST(ComparisonResultTest, ParametersThatDifferAreSaid) {
  WorkerRun run = run_of({1});
  run.summary.parameter_hash = "aaab";
  ComparisonResult result;
  result.rows.push_back(row_of(1));
  add_measurements(result.rows[0], Runs{run}, row_of(1), Runs{run_of({1})}, two_tiers());
  EXPECT_TRUE(result.rows[0].same_losses);
  EXPECT_FALSE(result.rows[0].same_parameters);
  EXPECT_FALSE(result.same_bits());
  result.rows[0].failure = Error{ErrorCode::kIo, "lost"};
  EXPECT_TRUE(result.same_bits()) << "a row that did not run has no bits";
}

TEST(ComparisonResultTest, APolicysBytesAreOfAllItsSteps) {
  ComparisonRow row = row_of(1);
  row.policy = PolicyActivity{.settling_steps = 7, .bytes_in = 500, .bytes_out = 100};
  WorkerRun run = run_of({1, 1});
  run.summary.policy_figures = {{"faults", 3}, {"passes", 4}};
  add_measurements(row, Runs{run}, row_of(1), Runs{run_of({1, 1})}, two_tiers());
  EXPECT_EQ(row.policy->steps, 7 + kWarmupRounds + 2);
  EXPECT_EQ(row.policy->bytes_in, 500 + 2 * 1000 + 2 * 10);
  EXPECT_EQ(row.policy->bytes_out, 100 + 2 * 1000 + 2 * 4);
  EXPECT_EQ(row.policy->passes(), 4);
  EXPECT_EQ(PolicyActivity{}.passes(), std::nullopt);
}

TEST(ComparisonResultTest, ContestantsTakeTheSameSteps) {
  ComparisonRow row = row_of(1);
  EXPECT_THROW(add_measurements(row, Runs{run_of({1})}, row_of(1), Runs{run_of({1, 1})}, two_tiers()),
               std::logic_error);
  EXPECT_THROW(add_measurements(row, Runs{run_of({1})}, row_of(1), Runs(2, run_of({1})), two_tiers()),
               std::logic_error);
}

}  // namespace
}  // namespace sluice::experiment
