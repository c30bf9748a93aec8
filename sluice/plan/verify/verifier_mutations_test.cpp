// Random valid plans, each broken in one way that a rule forbids: the verifier must name that rule.
#include <gtest/gtest.h>

#include "sluice/testing/plan_mutations.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/random_plan.hpp"

namespace sluice::plan {
namespace {

using testing::PlanCase;
using testing::PlanMutation;

class VerifierMutations : public ::testing::TestWithParam<testing::PlanMutation> {};

TEST_P(VerifierMutations, AreRejectedByName) {
  int applied = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    testing::PlanCase c{testing::random_graph(seed), testing::random_machine(seed), {}, testing::SeededRandom(seed)};
    c.plan = testing::random_plan(seed, c.graph, c.machine);
    if (!GetParam().mutate(c)) continue;
    ++applied;
    std::string found;
    bool named = false;
    for (const Violation& violation : verify_plan(c.graph, c.machine, c.plan)) {
      named = named || violation.rule == GetParam().rule;
      found += std::string(to_string(violation.rule)) + ": " + violation.message + "\n";
    }
    ASSERT_TRUE(named) << "expected " << to_string(GetParam().rule) << ", found:\n" << found;
  }
  EXPECT_GE(applied, 40);
}

INSTANTIATE_TEST_SUITE_P(EveryRule, VerifierMutations, ::testing::ValuesIn(testing::plan_mutations()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace sluice::plan
