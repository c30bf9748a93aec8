// kEncodingAllowed by hand: a sound plan with an encoded residency, and the smallest changes that break the rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/plan/verify/geometry.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/program/program.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TinyStep;

// tiny_step() with x encoded in the file.
class EncodingRuleTest : public ::testing::Test {
 protected:
  using T = testing::TinyStep;
  EncodingRuleTest() {
    residency(T::kXFile).encoding = memory::Encoding::kZeroValue;
    step_.plan.budgets[0] += staging_bytes(step_.plan);
    step_.plan.arena_bytes[0] += staging_bytes(step_.plan);
  }
  Residency& residency(ResidencyIndex i) { return step_.plan.residencies.at(as_index(i)); }
  std::vector<std::string> broken() const {
    std::vector<std::string> all;
    for (const Violation& violation : verify_plan(step_.graph, step_.machine, step_.plan)) {
      all.push_back(std::string(to_string(violation.rule)) + ": " + violation.message);
    }
    return all;
  }
  void set_dtype(graph::DType dtype) {
    step_.graph.tensor(T::kX).dtype = dtype;
    step_.plan.graph_fingerprint = step_.graph.fingerprint();
  }

  testing::TinyStep step_ = testing::tiny_step();
};

TEST_F(EncodingRuleTest, AnEncodedCopyIsSound) {
  EXPECT_THAT(broken(), IsEmpty());
  set_dtype(graph::DType::kBF16);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(EncodingRuleTest, TheElementsMustBeFloats) {
  for (const graph::DType dtype : {graph::DType::kI32, graph::DType::kU8}) {
    set_dtype(dtype);
    EXPECT_THAT(broken(),
                ElementsAre(HasSubstr("encoding-allowed: tensor 1 'x' is to lie encoded (zero-value) in "
                                      "residency 2 (tier 1 'file', bytes [0, 8192), ops [1, 3)), and its "
                                      "elements are " +
                                      std::string(to_string(dtype)) + ": the encoding is for f32, bf16 and f16")));
  }
}

TEST_F(EncodingRuleTest, NarrowIsForIntegers) {
  residency(T::kXFile).encoding = memory::Encoding::kNarrow;
  for (const graph::DType dtype : {graph::DType::kI32, graph::DType::kU8}) {
    set_dtype(dtype);
    EXPECT_THAT(broken(), IsEmpty());
  }
  for (const graph::DType dtype : {graph::DType::kF32, graph::DType::kBF16}) {
    set_dtype(dtype);
    EXPECT_THAT(broken(), ElementsAre(HasSubstr("the encoding is for i32 and u8")));
  }
}

TEST_F(EncodingRuleTest, NothingIsEncodedInTheFastestTier) {
  residency(T::kXDramAgain).encoding = memory::Encoding::kZeroValue;
  EXPECT_THAT(broken(), ::testing::Contains(HasSubstr("encoding-allowed: tensor 1 'x' is to lie encoded")));
  EXPECT_THAT(broken(), ::testing::Contains(HasSubstr("in the fastest tier nothing is encoded")));
}

TEST_F(EncodingRuleTest, OpsUseNothingEncoded) {
  step_.machine = testing::tiny_machine(memory::TierKind::kEmulated);
  step_.plan.machine_fingerprint = step_.machine.fingerprint();
  ASSERT_THAT(broken(), IsEmpty());
  residency(T::kXFile).ops.end = 5;
  step_.plan.ops[4].operand_tiers = {0, 1, 0};
  EXPECT_THAT(broken(), ElementsAre(HasSubstr("encoding-allowed: op 4 'update' uses tensor 1 'x' in residency 2")));
}

TEST_F(EncodingRuleTest, AStepBeginsWithNothingEncoded) {
  auto& plan = step_.plan;
  residency(T::kWDram).ops.begin = 0;
  plan.residencies.push_back({T::kW, 1, 8192, {0, 5}, memory::Encoding::kZeroValue});
  plan.arena_bytes[1] += memory::kBlockAlignment;
  residency(T::kXFile).encoding = memory::Encoding::kNone;
  plan.migrations.insert(plan.migrations.begin(), {T::kW, 7, T::kWDram, kStepStart, 0});
  plan.migrations.push_back({T::kW, T::kWDram, 7, 4, 5});
  EXPECT_THAT(broken(), ElementsAre(HasSubstr("where it begins the step, and between steps tensors lie as they are")));
}

TEST_F(EncodingRuleTest, NorEndsAsItDidNotBegin) {
  auto& plan = step_.plan;
  residency(T::kXFile).encoding = memory::Encoding::kNone;
  plan.residencies.push_back({T::kW, 1, 8192, {0, 1}});
  plan.residencies.push_back({T::kW, 1, 8192, {4, 5}, memory::Encoding::kZeroValue});
  plan.arena_bytes[1] += memory::kBlockAlignment;
  plan.migrations.insert(plan.migrations.begin(), {T::kW, 7, T::kWDram, kStepStart, 0});
  plan.migrations.push_back({T::kW, T::kWDram, 8, 4, 5});
  EXPECT_THAT(broken(), ElementsAre(HasSubstr("cycle-closed: tensor 0 'w' begins the step in")));
  residency(8).encoding = memory::Encoding::kNone;
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(EncodingRuleTest, OnlyTierZeroIsEncodedFrom) {
  auto& machine = step_.machine;
  machine.tiers.push_back(machine.tiers[1]);
  machine.tiers[2].name = "farther";
  machine.links.push_back({.from = 1, .to = 2, .bandwidth = 1e9});
  auto& plan = step_.plan;
  plan.machine_fingerprint = machine.fingerprint();
  plan.budgets.push_back(kMiB);
  plan.arena_bytes.push_back(8192);
  plan.residencies.push_back({T::kX, 2, 0, {2, 5}});
  plan.migrations.push_back({T::kX, T::kXFile, 7, 1, 3});
  EXPECT_THAT(broken(), ElementsAre(HasSubstr("encoding-allowed: tensor 1 'x' is to lie encoded (zero-value) in "
                                              "residency 2")));
  EXPECT_THAT(broken(), ElementsAre(HasSubstr("only tier 0 does")));
}

TEST_F(EncodingRuleTest, ABlockMovesAsItIs) {
  auto& plan = step_.plan;
  plan.residencies.push_back({T::kN, 1, 8192, {1, 3}});
  plan.arena_bytes[1] += memory::kBlockAlignment;
  plan.blocks = {{{T::kXFile, 7}}};
  residency(7).offset = 8000 + 0;  // x has 8000 bytes, a multiple of 64
  plan.arena_bytes[1] = 12288;
  plan.migrations.clear();
  residency(T::kXDram).ops = {0, 5};
  plan.residencies[T::kXDramAgain] = {T::kX, 1, 16384, {4, 5}};
  plan.arena_bytes[1] = 24576;
  EXPECT_THAT(broken(), ::testing::Contains(HasSubstr("is a member of a block, which moves as it is")));
}

TEST_F(EncodingRuleTest, StagingIsLeftFreeBehindWhatThePlanUses) {
  step_.plan.arena_bytes[0] -= memory::kBlockAlignment;
  EXPECT_THAT(broken(), ElementsAre(HasSubstr(
                            "within-budget: the fast arena's last 524288 bytes are for encoding; it has 540672, "
                            "and tensor 3 'n' in residency 5")));
  residency(T::kXFile).encoding = memory::Encoding::kNone;
  EXPECT_THAT(broken(), IsEmpty()) << "who encodes nothing needs none";
}

TEST_F(EncodingRuleTest, BothGeometriesLeaveTheSame) {
  EXPECT_EQ(verify::staging(step_.plan), staging_bytes(step_.plan));
  residency(T::kXFile).encoding = memory::Encoding::kNone;
  EXPECT_EQ(verify::staging(step_.plan), 0);
  EXPECT_EQ(staging_bytes(step_.plan), 0);
}

}  // namespace
}  // namespace sluice::plan
