// The addition `encode` of sentinel and joint, with made-up shares of zeros.
#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/planners/registry/make_plan.hpp"
#include "sluice/planners/registry/problem_for_tests.hpp"
#include "sluice/planners/registry/registry.hpp"
#include "sluice/program/program.hpp"
#include "sluice/sim/plan_costs.hpp"
#include "sluice/sim/simulator.hpp"

namespace sluice::planners {
namespace {

constexpr const char* kEncoding = "sentinel:additions=choice+staying+in-place+ahead+lending+encode";

// Every float of the model is half zeros; the encoder is fast beside the link of 0.5 GB/s.
PlanningProblem half_zeros(const std::string& slow, BytesPerSecond link, BytesPerSecond coder = 20e9) {
  PlanningProblem problem(merged_model("plain20", 128, 32), slow, link);
  auto figures = std::make_shared<profile::EncodingFigures>();
  for (const graph::Tensor& tensor : problem.graph.tensors()) {
    figures->encoded_bytes.push_back(align_up(tensor.bytes / 2 + tensor.bytes / 32, memory::kBlockAlignment));
  }
  figures->zero_value = {coder, coder};
  problem.profile.encodings = figures;
  return problem;
}

// Each planner with the addition, and without.
struct EncodingPlanner {
  const char* planner;
  const char* without;
  double most;  // of the time without, that the step takes in these tests
};

class Encode : public ::testing::TestWithParam<EncodingPlanner> {
 protected:
  static Result<plan::Plan> encoded_plan(const PlanRequest& request) { return make_plan(GetParam().planner, request); }
};

INSTANTIATE_TEST_SUITE_P(Planners, Encode,
                         ::testing::Values(EncodingPlanner{kEncoding, "sentinel", 0.9},
                                           EncodingPlanner{"joint:additions=encode", "joint", 0.96}),
                         [](const auto& each) { return each.param.without; });

std::int64_t encoded_in(const plan::Plan& plan) {
  return std::ranges::count_if(plan.residencies, &plan::Residency::encoded);
}

TEST_P(Encode, MovesFewerBytesAndTakesLessTime) {
  const PlanningProblem problem = half_zeros("file", 5e8);
  for (const double share : {0.2, 0.3}) {  // with half the memory the link is no longer what is short
    SCOPED_TRACE(share);
    const auto plain = make_plan(GetParam().without, problem.request(share));
    const auto encoded = encoded_plan(problem.request(share));
    ASSERT_TRUE(plain.ok() && encoded.ok());
    EXPECT_EQ(encoded_in(*plain), 0) << "only where it is named";
    EXPECT_GT(encoded_in(*encoded), 10);
    EXPECT_LT(encoded->predicted_step_seconds, GetParam().most * plain->predicted_step_seconds);
    EXPECT_GE(encoded->predicted_step_seconds, encoded->order_bound_seconds);
    EXPECT_LE(encoded->arena_bytes[0], encoded->budgets[0]);
    const sim::PlanCosts costs(problem.graph, problem.profile, problem.machine, *encoded);
    const program::StepTimes step =
        sim::simulate(program::lower_plan(problem.graph, problem.machine, *encoded).value(), costs.costs());
    for (std::size_t link = 0; link < 2; ++link) EXPECT_LT(step.link_bytes[link], 0.8 * step.raw_link_bytes[link]);
    for (const plan::Residency& residency : encoded->residencies) {
      if (!residency.encoded()) continue;
      EXPECT_FALSE(graph::is_persistent(problem.graph.tensor(residency.tensor).role));
      EXPECT_EQ(residency.tier, 1);
    }
  }
}

TEST_P(Encode, IsNotUsedWhereTheLinkIsFasterThanTheEncoder) {
  const auto slow_coder = encoded_plan(half_zeros("file", 5e8, 4e8).request(0.3));
  ASSERT_TRUE(slow_coder.ok());
  EXPECT_EQ(encoded_in(*slow_coder), 0);
}

TEST_P(Encode, IsNotUsedWhereNobodyMeasuredOrOpsUseTheTierInPlace) {
  PlanningProblem problem = half_zeros("file", 5e8);
  problem.profile.encodings = nullptr;
  EXPECT_EQ(encoded_in(encoded_plan(problem.request(0.3)).value()), 0);
  EXPECT_EQ(encoded_in(encoded_plan(half_zeros("optane", 5e8).request(0.3)).value()), 0);
}

TEST(EncodeElsewhere, IsNoPartOfWhoPlansWithSentinel) {
  const PlanningProblem problem = half_zeros("file", 5e8);
  const auto deferred = make_plan("deferred-updates", problem.request(0.3));
  ASSERT_TRUE(deferred.ok()) << deferred.error().message;
  EXPECT_EQ(encoded_in(*deferred), 0);
}

TEST_P(Encode, AsksForItsFiguresOnlyWhereItIsNamed) {
  EXPECT_TRUE(wants_encodings(GetParam().planner));
  EXPECT_TRUE(wants_encodings("sentinel:additions=encode"));
  for (const char* name :
       {"sentinel", "joint", "joint:additions=kernels", "sentinel:additions=none", "fast-only", "oracle", "ial"}) {
    EXPECT_FALSE(wants_encodings(name)) << name;
  }
}

}  // namespace
}  // namespace sluice::planners
