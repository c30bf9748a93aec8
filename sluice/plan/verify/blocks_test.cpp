// Blocks: small tensors that one transfer moves, in pages of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/own_pages.hpp"
#include "sluice/plan/plan_builder.hpp"
#include "sluice/plan/plan_file.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/program/program.hpp"
#include "sluice/testing/program_oracle.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// a, b and c are made by op 0, leave together while ops 1 to 3 run, and are read by op 4. `big` takes their room.
struct Step {
  enum : graph::TensorId { kA, kB, kC, kBig };
  enum : ResidencyIndex { kFastA, kFastB, kFastC, kSlowA, kSlowB, kSlowC, kBackA, kBackB, kBackC, kRoom };
  graph::Graph graph;
  memory::Machine machine = testing::tiny_machine();
  Plan plan;

  Step() {
    graph.layers = {"all"};
    testing::add_tiny_tensor(graph, "a", graph::Role::kActivation, 100);
    testing::add_tiny_tensor(graph, "b", graph::Role::kActivation, 5000);
    testing::add_tiny_tensor(graph, "c", graph::Role::kActivation, 64);
    testing::add_tiny_tensor(graph, "big", graph::Role::kActivation, 8192);
    testing::add_tiny_op(graph, "make", {}, {kA, kB, kC});
    testing::add_tiny_op(graph, "other", {}, {});
    testing::add_tiny_op(graph, "big", {}, {kBig});
    testing::add_tiny_op(graph, "other", {}, {});
    testing::add_tiny_op(graph, "use", {kA, kB, kC}, {});
    plan = builder().finish(std::vector<Bytes>{8192, kGiB}).value();
  }

  PlanBuilder builder() const {
    PlanBuilder builder(graph, machine);
    const auto add = [&](memory::TierId tier, Interval<graph::OpIndex> ops) {
      std::vector<ResidencyIndex> members;
      for (const graph::TensorId id : {kA, kB, kC}) members.push_back(builder.add_residency(id, tier, ops));
      builder.add_block(members);
      return members;
    };
    const auto made = add(0, {0, 2});
    const auto kept = add(1, {1, 4});
    const auto back = add(0, {3, 5});
    builder.add_residency(kBig, 0, {2, 3});
    for (const graph::TensorId id : {kA, kB, kC})
      builder.add_migration(id, made[as_index(id)], kept[as_index(id)], 0, 2);
    for (const graph::TensorId id : {kA, kB, kC})
      builder.add_migration(id, kept[as_index(id)], back[as_index(id)], 2, 4);
    return builder;
  }
};

TEST(Blocks, LieInPagesOfTheirOwnMemberBehindMember) {
  const Step step;
  EXPECT_THAT(verify_plan(step.graph, step.machine, step.plan), IsEmpty());
  EXPECT_EQ(step.plan.arena_bytes[0], 8192) << "5,312 bytes, up to two pages";
  const auto offset = [&](ResidencyIndex i) { return step.plan.residencies[as_index(i)].offset; };
  for (const ResidencyIndex first : {Step::kFastA, Step::kSlowA, Step::kBackA}) {
    EXPECT_EQ(offset(first) % memory::kBlockAlignment, 0);
    EXPECT_EQ(offset(first + 1), offset(first) + 128);
    EXPECT_EQ(offset(first + 2), offset(first) + 128 + 5056);
  }
}

TEST(Blocks, MoveInOneTransfer) {
  const Step step;
  const program::Program program = program::lower_plan(step.graph, step.machine, step.plan).value();
  ASSERT_EQ(program.transfers.size(), 2U);
  for (const program::TransferInstruction& transfer : program.transfers) {
    EXPECT_EQ(transfer.tensor, Step::kA);
    EXPECT_EQ(transfer.bytes, 8192);
    EXPECT_THAT(transfer.others,
                ElementsAre(program::TransferPart{Step::kB, 128}, program::TransferPart{Step::kC, 5184}));
  }
  EXPECT_EQ(program.compute[4].operands[2].offset, program.transfers[1].to.offset + 5184);
  EXPECT_THAT(program.compute[2].waits, ElementsAre(0)) << "big takes the room that the block leaves";
  EXPECT_THAT(program.compute[4].waits, ElementsAre(1));
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(testing::find_race(step.graph, program, seed), std::nullopt) << "seed " << seed;
  }
}

TEST(Blocks, AreWrittenAndRead) {
  const Step step;
  const auto document = plan_to_json(step.graph, step.plan);
  EXPECT_EQ(plan_from_json(document).value().blocks, step.plan.blocks);
  auto before_blocks = document;
  before_blocks.erase("blocks");
  EXPECT_THAT(plan_from_json(before_blocks).error().message, HasSubstr("/blocks: missing"));
  before_blocks["version"] = 1;
  EXPECT_THAT(plan_from_json(before_blocks).value().blocks, IsEmpty());
  auto broken = document;
  broken["blocks"][1]["members"] = "all";
  EXPECT_THAT(plan_from_json(broken).error().message, HasSubstr("/blocks/1/members"));
}

TEST(Blocks, AreTakenApartOnPagesOfTheirOwn) {
  const Step step;
  const Plan apart = on_own_pages(step.graph, step.machine, step.plan);
  EXPECT_THAT(verify_plan(step.graph, step.machine, apart), IsEmpty());
  EXPECT_THAT(apart.blocks, IsEmpty());
  EXPECT_EQ(program::lower_plan(step.graph, step.machine, apart).value().transfers.size(), 6U);
}

struct Break {
  const char* name;
  void (*apply)(Step&);
  const char* message;  // part of the first violation
};

class BrokenBlocks : public ::testing::TestWithParam<Break> {};

TEST_P(BrokenBlocks, AreRejected) {
  Step step;
  for (Bytes& budget : step.plan.budgets) budget += 4 * memory::kBlockAlignment;
  for (Bytes& bytes : step.plan.arena_bytes) bytes += 4 * memory::kBlockAlignment;
  GetParam().apply(step);
  const auto violations = verify_plan(step.graph, step.machine, step.plan);
  ASSERT_FALSE(violations.empty());
  EXPECT_THAT(std::string(to_string(violations[0].rule)) + ": " + violations[0].message, HasSubstr(GetParam().message));
}

const Break kBreaks[] = {
    {"OneMember", [](Step& s) { s.plan.blocks[0].members.resize(1); }, "well-formed: block 0: 1 members"},
    {"NoSuchResidency", [](Step& s) { s.plan.blocks[1].members[2] = 99; }, "well-formed: block 1: no residency 99"},
    {"NegativeResidency", [](Step& s) { s.plan.blocks[1].members[2] = -1; }, "well-formed: block 1: no residency -1"},
    {"TwiceInOne", [](Step& s) { s.plan.blocks[0].members[2] = Step::kFastA; }, "is in a block already"},
    {"InTwo", [](Step& s) { s.plan.blocks[2] = s.plan.blocks[0]; }, "block 2: residency 0 is in a block already"},
    {"OtherTimes", [](Step& s) { s.plan.residencies[Step::kFastB].ops.end = 3; }, "over other ops"},
    {"OtherTier", [](Step& s) { s.plan.residencies[Step::kBackC].tier = 1; }, "in another tier"},
    {"Overlap", [](Step& s) { s.plan.residencies[Step::kFastB].offset -= 64; }, "and belongs 128 bytes behind byte 0"},
    {"NegativeOffset", [](Step& s) { s.plan.residencies[Step::kFastB].offset = std::numeric_limits<Bytes>::min(); },
     "belongs 128"},
    {"Hole", [](Step& s) { s.plan.residencies[Step::kFastC].offset += 64; }, "and belongs 5184 bytes behind byte 0"},
    {"WrongOrder", [](Step& s) { std::swap(s.plan.blocks[0].members[0], s.plan.blocks[0].members[1]); }, "belongs"},
    {"InsideAPage",
     [](Step& s) {
       for (const auto i : {Step::kBackA, Step::kBackB, Step::kBackC}) s.plan.residencies[as_index(i)].offset += 64;
     },
     "offset 64 is not a multiple of 4096"},
    {"PageSharedWithAnother",
     [](Step& s) {
       s.plan.residencies[Step::kRoom] = {Step::kBig, 0, memory::kBlockAlignment, {2, 4}};
     },
     "no-overlap"},
    {"OneMigrationMissing", [](Step& s) { s.plan.migrations.erase(s.plan.migrations.begin() + 1); },
     "migration 0: it begins or ends in a block"},
    {"MigrationsInAnotherOrder", [](Step& s) { std::swap(s.plan.migrations[3], s.plan.migrations[4]); },
     "migration 3: it begins or ends in a block"},
    {"MigrationsAtOtherTimes", [](Step& s) { s.plan.migrations[1].needed_by = 1; },
     "migration 0: it begins or ends in a block"},
    {"OnlyTheSourceIsABlock", [](Step& s) { s.plan.blocks.erase(s.plan.blocks.begin() + 1); },
     "is not a multiple of 4096"},
    {"AMemberThatNothingMade",
     [](Step& s) {
       s.graph.op(0).outputs = {Step::kA, Step::kB};
       s.graph.op(1).outputs = {Step::kC};
       s.plan.ops[0].operand_tiers = {0, 0};
       s.plan.ops[1].operand_tiers = {0};
       s.plan.graph_fingerprint = s.graph.fingerprint();
     },
     "which nothing has filled by then"},
    {"AMemberThatIsWrittenMeanwhile",
     [](Step& s) {
       s.graph.op(1).outputs = {Step::kC};
       s.plan.ops[1].operand_tiers = {0};
       s.plan.graph_fingerprint = s.graph.fingerprint();
     },
     "source-stays-valid"},
};

INSTANTIATE_TEST_SUITE_P(Each, BrokenBlocks, ::testing::ValuesIn(kBreaks),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace sluice::plan
