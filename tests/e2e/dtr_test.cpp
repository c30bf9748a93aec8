// The promise of same_bits_test for dtr, which decides while it runs: losses and parameters of every family of models are
// the same bits in budgets in which it has to evict.
#include <gtest/gtest.h>

#include "sluice/testing/float_bits.hpp"
#include "tests/e2e/small_families.hpp"
#include "tests/e2e/trained_run.hpp"

namespace sluice::tests {
namespace {

constexpr std::int64_t kDtrSteps = 2;

class DtrTest : public ::testing::TestWithParam<Family> {};

// dtr decides by the times that ops take while it runs, so a tight budget may do in one run and not in the next.
// Its memory falls into pieces, so what holds everything may not do for it.
TEST_P(DtrTest, LeavesTheBits) {
  train::Workload workload = test_workload(GetParam().options);
  const memory::Machine machine = test_machine(1, {"file"});
  const TrainedRun expected =
      train(workload, machine, *test_plan(workload, machine, "fast-only", "100%"), kDtrSteps, 0.01F);
  int trained = 0;
  int rematerialized = 0;
  for (const std::string fast : {"110%", "106%", "103%", "100%", "95%", "90%", "85%", "70%", "55%"}) {
    SCOPED_TRACE(fast);
    const Result<policies::Run> run = test_run(workload, machine, "dtr", fast);
    if (!run.ok()) {
      EXPECT_TRUE(wants_more_room(run.error().code)) << run.error().message;
      continue;
    }
    const auto session = train::Session::create(workload, machine, *run, {}).value();
    std::vector<float> losses;
    bool evicted = false;
    for (std::int64_t step = 0; step < kDtrSteps; ++step) {
      const Result<train::StepOutcome> outcome = session->run_step(step, 0.01F);
      if (!outcome.ok()) {
        EXPECT_EQ(outcome.error().code, ErrorCode::kNoneFound) << outcome.error().message;
        break;
      }
      losses.push_back(outcome->loss);
      evicted |= session->breakdown(outcome->trace)->recomputation > 0;
    }
    if (losses.size() < kDtrSteps) continue;
    EXPECT_EQ(testing::bits_of(losses), testing::bits_of(expected.losses));
    EXPECT_EQ(session->hash_parameters().value(), expected.parameter_hash);
    ++trained;
    rematerialized += evicted ? 1 : 0;
  }
  EXPECT_GE(trained, 1) << "no budget did";
  EXPECT_GE(rematerialized, 1) << "nothing was evicted";
}

INSTANTIATE_TEST_SUITE_P(Models, DtrTest, ::testing::ValuesIn(small_families()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace sluice::tests
