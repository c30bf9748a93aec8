// The promise of same_bits_test for every family of models, scaled down: losses and parameters are the same bits under
// every planner that can plan, tight budgets, and two kinds of slow tier.
#include <gtest/gtest.h>

#include <cmath>

#include "sluice/testing/float_bits.hpp"
#include "tests/e2e/trained_run.hpp"

namespace sluice {
namespace {

constexpr std::int64_t kFamilySteps = 2;

struct Family {
  const char* name;
  WorkloadOptions options;
};

WorkloadOptions images(const char* model, std::int64_t size, std::int64_t width) {
  return {.model = model, .shape = {.batch = 2, .image_size = size, .classes = 10, .width = width}};
}

WorkloadOptions text(const char* model, const ModelOptions& shape, Optimizer optimizer) {
  return {.model = model, .shape = shape, .optimizer = {.optimizer = optimizer}};
}

class FamiliesTest : public ::testing::TestWithParam<Family> {};

TEST_P(FamiliesTest, SameBitsOverPlannersBudgetsAndTiers) {
  Workload workload = test_workload(GetParam().options);
  const Machine host = test_machine(1, {"file"});
  const TrainedRun expected =
      train(workload, host, *test_plan(workload, host, "fast-only", "100%"), kFamilySteps, 0.01F);
  ASSERT_TRUE(std::isfinite(expected.losses.back()));
  ASSERT_NE(expected.losses.front(), expected.losses.back());
  int moving = 0;
  for (const std::string tier : {"file", "optane"}) {
    const Machine machine = test_machine(1, {tier});
    for (const std::string planner : {"first-touch", "on-demand", "sentinel", "redl", "autotm-sync", "autotm-async",
                                      "vdnn", "superneurons", "capuchin", "home:particles=40:iterations=20"}) {
      for (const std::string fast : {"70%", "45%"}) {
        SCOPED_TRACE(tier + " " + planner + " " + fast);
        const Result<Plan> plan = test_plan(workload, machine, planner, fast);
        if (!plan.ok()) {  // for one reason each: a budget below the smallest, ops that cannot use a file in place
          const bool no_tier = planner == "first-touch" && tier == "file";
          EXPECT_EQ(plan.error().code, no_tier ? ErrorCode::kUnsupported : ErrorCode::kInfeasible)
              << plan.error().message;
          continue;
        }
        const TrainedRun run = train(workload, machine, *plan, kFamilySteps, 0.01F);
        EXPECT_EQ(testing::bits_of(run.losses), testing::bits_of(expected.losses));
        EXPECT_EQ(run.parameter_hash, expected.parameter_hash);
        moving += run.bytes_moved > 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GE(moving, 4) << "too few combinations could be planned for this test to mean much";
}

INSTANTIATE_TEST_SUITE_P(
    Models, FamiliesTest,
    ::testing::Values(
        Family{"inception_v3", images("inception_v3", 107, 8)}, Family{"densenet121", images("densenet121", 32, 8)},
        Family{"mobilenet_v2", images("mobilenet_v2", 64, 8)}, Family{"squeezenet1_1", images("squeezenet1_1", 64, 16)},
        Family{"googlenet", images("googlenet", 64, 16)},
        Family{"dcgan", {.model = "dcgan", .shape = {.batch = 4, .image_size = 32, .width = 8}}},
        Family{"lstm",
               text("lstm", {.batch = 4, .classes = 200, .sequence = 10, .width = 64, .depth = 2}, Optimizer::kSgd)},
        Family{"bert_base", text("bert_base", {.batch = 2, .classes = 200, .sequence = 32, .width = 64, .depth = 2},
                                 Optimizer::kAdamW)},
        // On CPUs without bf16 these two are fp32 again.
        Family{"mobilenet_v2_bf16",
               {.model = "mobilenet_v2",
                .shape = {.batch = 2, .image_size = 64, .classes = 10, .width = 8},
                .precision = Precision::kBF16}},
        Family{"bert_base_bf16",
               {.model = "bert_base",
                .shape = {.batch = 2, .classes = 200, .sequence = 32, .width = 64, .depth = 2},
                .optimizer = {.optimizer = Optimizer::kAdam},
                .precision = Precision::kBF16}},
        Family{"gpt2_small", text("gpt2_small", {.batch = 2, .classes = 200, .sequence = 32, .width = 64, .depth = 2},
                                  Optimizer::kAdam)}),
    [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace sluice
