// Several ranks against one that takes all their batches, by threads of one process (kernels/ranks.hpp).
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "sluice/testing/thread_ranks.hpp"
#include "tests/cli/command_runner.hpp"
#include "tests/e2e/trained_run.hpp"

namespace sluice::tests {
namespace {

struct Settings {
  std::string planner = "fast-only", fast = "100%";
  graph::Precision precision = graph::Precision::kF32;
  float clip_norm = 0;
  bool delayed = false;
  graph::Optimizer optimizer = graph::Optimizer::kAdamW;
  float loss_scale = 65536;
  bool operator==(const Settings&) const = default;
};

train::WorkloadOptions network(const Settings& settings, int ranks, int accumulate) {
  return {.model = "gpt2_small",
          .shape = {.batch = 1, .classes = 200, .sequence = 32, .width = 64, .depth = 2, .dropout = 0.1F},
          .optimizer = {.optimizer = settings.optimizer,
                        .delayed = settings.delayed,
                        .clip_norm = settings.clip_norm,
                        .accumulate = accumulate,
                        .ranks = ranks,
                        .loss_scale = settings.loss_scale},
          .precision = settings.precision};
}

// Steps [first, end) of one rank, or of the only one.
TrainedRun train_rank(const Settings& settings, int accumulate, kernels::Ranks* ranks, const std::string& from,
                      std::int64_t first, std::int64_t end, const std::string& to) {
  train::Workload workload = test_workload(network(settings, ranks == nullptr ? 1 : ranks->count(), accumulate));
  const memory::Machine machine = test_machine(1, {"file"});
  const plan::Plan plan = *test_plan(workload, machine, settings.planner, settings.fast);
  const auto session = train::Session::create(workload, machine, plan, {.ranks = ranks}).value();
  if (!from.empty()) {
    EXPECT_EQ(session->load_checkpoint(from).value(), first);
  }
  TrainedRun trained;
  for (std::int64_t step = first; step < end; ++step) trained.losses.push_back(session->run_step(step, 1e-3F)->loss);
  if (!to.empty()) {
    EXPECT_TRUE(session->save_checkpoint(to, end).ok());
  }
  trained.parameter_hash = session->hash_parameters().value();
  return trained;
}

// Of all ranks alike.
TrainedRun train_ranks(const Settings& settings, int count, int accumulate, const std::string& from = "",
                       std::int64_t first = 0, std::int64_t end = 3, const std::string& to = "") {
  if (count == 1) return train_rank(settings, accumulate, nullptr, from, first, end, to);
  testing::ThreadRanks ranks(count);
  std::mutex mutex;
  std::vector<TrainedRun> all;
  ranks.run([&](kernels::Ranks& each) {
    TrainedRun trained = train_rank(settings, accumulate, &each, from, first, end, to);
    const std::scoped_lock lock(mutex);
    all.push_back(std::move(trained));
  });
  for (const TrainedRun& each : all) {
    EXPECT_EQ(testing::bits_of(each.losses), testing::bits_of(all.front().losses))
        << "every rank knows the loss of all";
    EXPECT_EQ(each.parameter_hash, all.front().parameter_hash) << "and the parameters";
  }
  return all.front();
}

// Fractions of powers of two are exact, and sums have the same order.
TEST(Ranks, HaveTheBitsOfOneThatTakesAllBatches) {
  const TrainedRun one = train_ranks({}, 1, 4), four = train_ranks({}, 4, 1);
  EXPECT_EQ(testing::bits_of(four.losses), testing::bits_of(one.losses));
  EXPECT_EQ(four.parameter_hash, one.parameter_hash);
}

TEST(Ranks, RoundOtherwiseOnly) {
  for (const Settings& settings :
       {Settings{.clip_norm = 0.5F}, Settings{.precision = graph::Precision::kBF16Masters},
        Settings{.precision = graph::Precision::kBF16Masters, .clip_norm = 0.5F, .delayed = true},
        Settings{.precision = graph::Precision::kF16Masters, .loss_scale = 4194304}}) {
    const TrainedRun one = train_ranks(settings, 1, 4);
    for (const int count : {2, 4}) {
      const TrainedRun several = train_ranks(settings, count, 4 / count);
      for (std::size_t step = 0; step < one.losses.size(); ++step) {
        EXPECT_NEAR(several.losses[step], one.losses[step], 2e-3F) << count << " ranks, step " << step;
      }
      EXPECT_EQ(train_ranks(settings, count, 4 / count).parameter_hash, several.parameter_hash) << "and always alike";
    }
  }
}

// Adam would hide a factor of its own on every rank: its steps do not grow with gradients.
TEST(Ranks, ClipByTheNormOfAllOfThem) {
  const Settings clipped{.clip_norm = 0.05F, .optimizer = graph::Optimizer::kSgd};
  const TrainedRun one = train_ranks(clipped, 1, 4), four = train_ranks(clipped, 4, 1);
  const TrainedRun as_they_are = train_ranks({.optimizer = graph::Optimizer::kSgd}, 1, 4);
  EXPECT_NEAR(four.losses.back(), one.losses.back(), 1e-6F);
  EXPECT_GT(std::abs(as_they_are.losses.back() - one.losses.back()), 1e-4F) << "else clipping changes nothing here";
}

TEST(Ranks, HaveTheSameBitsUnderAnyPlan) {
  const Settings plain{.precision = graph::Precision::kBF16Masters, .clip_norm = 0.5F};
  Settings tight = plain;
  tight.planner = "sentinel";
  tight.fast = "60%";
  EXPECT_EQ(train_ranks(tight, 3, 1).parameter_hash, train_ranks(plain, 3, 1).parameter_hash);
}

// Two ranks of two batches each add up in another order than four of one.
TEST(Ranks, GoOnFromCheckpointsOfAnyNumberOfThem) {
  const TemporaryFolder folder;
  const TrainedRun expected = train_ranks({}, 1, 4, "", 0, 4);
  for (const int before : {1, 2, 4}) {
    const std::string file = folder.file("of" + std::to_string(before) + ".ckpt");
    train_ranks({}, before, 4 / before, "", 0, 2, file);
    for (const int after : {1, 2, 4}) {
      const TrainedRun resumed = train_ranks({}, after, 4 / after, file, 2, 4);
      EXPECT_NEAR(resumed.losses.back(), expected.losses.back(), 1e-5F) << before << " to " << after;
      if (before == 2 || after == 2) continue;
      EXPECT_EQ(resumed.parameter_hash, expected.parameter_hash) << before << " to " << after;
    }
  }
}

TEST(Ranks, GoOnWithGradientsInFlight) {
  const TemporaryFolder folder;
  const Settings delayed{.delayed = true};
  const std::string expected = train_ranks(delayed, 1, 4, "", 0, 4).parameter_hash;
  for (const int before : {1, 4}) {
    const std::string file = folder.file("delayed" + std::to_string(before) + ".ckpt");
    train_ranks(delayed, before, 4 / before, "", 0, 2, file);
    for (const int after : {1, 4}) {
      EXPECT_EQ(train_ranks(delayed, after, 4 / after, file, 2, 4).parameter_hash, expected) << before << " " << after;
    }
  }
}

// More ranks than a norm's scale has elements: the last ones have nothing of it.
TEST(Ranks, MayHaveEmptyParts) {
  const auto options = [](int ranks, int accumulate) {
    return train::WorkloadOptions{.model = "resnet20",
                                  .shape = {.batch = 1, .image_size = 8, .width = 2},
                                  .optimizer = {.accumulate = accumulate, .ranks = ranks}};
  };
  const auto train = [&](kernels::Ranks* ranks, int count, int accumulate) {
    train::Workload workload = test_workload(options(count, accumulate));
    const memory::Machine machine = test_machine(1, {"file"});
    const plan::Plan plan = *test_plan(workload, machine, "fast-only", "100%");
    const auto session = train::Session::create(workload, machine, plan, {.ranks = ranks}).value();
    return session->run_step(0, 0.1F)->loss;
  };
  testing::ThreadRanks ranks(8);
  const float one = train(nullptr, 1, 8);
  ranks.run([&](kernels::Ranks& each) { EXPECT_EQ(train(&each, 8, 1), one); });
}

}  // namespace
}  // namespace sluice::tests
