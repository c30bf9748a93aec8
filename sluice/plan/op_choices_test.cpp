#include "sluice/plan/op_choices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OpChoices, AreThoseOfTheOpWhereverItRuns) {
  Plan plan;
  plan.planner = "by-hand";
  plan.ops = {{1, {}}, {0, {}, 1}, {1, {}}};
  plan.schedule = {2, 0, 2};  // op 2 runs twice, op 1 not at all
  EXPECT_THAT(choices_by_op(plan, 3).value(), ElementsAre(OpChoice{0, 1}, OpChoice{}, OpChoice{1, 0}));
  plan.ops[2].implementation = 0;
  EXPECT_THAT(choices_by_op(plan, 3).error().message, HasSubstr("runs op 2 in two ways"));
  EXPECT_THAT(choices_by_op(plan, 2).error().message, HasSubstr("a plan of another graph: it has an op 2"));
}

TEST(OpChoices, AreDescribedWhereThereAreAny) {
  Plan plan;
  plan.ops = {{0, {}}, {0, {}}};
  EXPECT_EQ(describe_choices(plan), "");
  plan.ops[0].implementation = 2;
  EXPECT_EQ(describe_choices(plan), "1 op by other kernels: the bits are those of fast-only with the same choices");
  plan.ops[1].processor = 1;
  EXPECT_THAT(describe_choices(plan), HasSubstr("1 op by other kernels, 1 op on other processors"));
}

}  // namespace
}  // namespace sluice
