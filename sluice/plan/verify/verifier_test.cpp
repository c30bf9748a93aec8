// Every rule by hand: the smallest change to a sound plan that breaks it.
#include "sluice/plan/verify/verifier.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::plan {
namespace {

using testing::add_tiny_op;
using testing::add_tiny_tensor;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::tiny_machine;
using testing::tiny_step;
using testing::TinyStep;

std::vector<std::string> rules_broken(const testing::TinyStep& step) {
  std::vector<std::string> names;
  for (const Violation& violation : verify_plan(step.graph, step.machine, step.plan)) {
    EXPECT_FALSE(violation.message.empty());
    names.emplace_back(to_string(violation.rule));
  }
  return names;
}

class VerifierTest : public ::testing::Test {
 protected:
  using T = testing::TinyStep;
  void expect_only(const std::string& rule) {
    const auto broken = rules_broken(step_);
    EXPECT_EQ(std::set<std::string>(broken.begin(), broken.end()), std::set<std::string>{rule});
  }
  Residency& residency(ResidencyIndex i) { return step_.plan.residencies.at(as_index(i)); }
  Migration& migration(std::size_t i) { return step_.plan.migrations.at(i); }

  testing::TinyStep step_ = testing::tiny_step();
};

TEST_F(VerifierTest, AcceptsTheSoundPlan) { EXPECT_THAT(rules_broken(step_), ::testing::IsEmpty()); }

TEST_F(VerifierTest, GraphMatches) {
  step_.graph.tensor(T::kM).bytes += 4;
  expect_only("graph-matches");
}

TEST_F(VerifierTest, MachineMatches) {
  step_.machine.tiers[1].addressable = true;
  expect_only("machine-matches");
}

TEST_F(VerifierTest, OperandHasNoResidency) {
  residency(T::kXDramAgain).ops.end = 4;  // op 4 still reads it
  expect_only("operand-resident");
}

TEST_F(VerifierTest, OperandWasNeverFilled) {
  step_.plan.migrations.pop_back();  // the prefetch
  expect_only("operand-resident");
  const auto violations = verify_plan(step_.graph, step_.machine, step_.plan);
  EXPECT_EQ(violations.front().message,
            "op 3 'use' reads tensor 1 'x' in residency 3 (tier 0 'dram', bytes [4096, 12288), ops [2, 5)), which "
            "nothing has filled by then");
}

TEST_F(VerifierTest, OutputMustStayForTheCaller) {
  residency(T::kLossDram).ops.end = 4;
  expect_only("operand-resident");
}

TEST_F(VerifierTest, TierAddressable) {
  residency(T::kXFile).ops = {1, 5};
  step_.plan.ops[3].operand_tiers[0] = 1;
  expect_only("tier-addressable");
}

TEST_F(VerifierTest, NoOverlap) {
  residency(T::kNDram).offset = 12288;  // m is still there for op 2
  expect_only("no-overlap");
}

TEST_F(VerifierTest, NoOverlapCountsWholePages) {
  residency(T::kXDramAgain).offset = 8192;  // 8,000 bytes take 8,192, up to byte 16384
  EXPECT_THAT(rules_broken(step_), Contains("no-overlap"));
}

TEST_F(VerifierTest, NoOverlapWithATransferStillUnderWay) {
  residency(T::kMDram).offset = 4096;  // x is being evicted from there until op 2
  expect_only("no-overlap");
}

TEST_F(VerifierTest, WithinBudget) {
  step_.plan.budgets[0] = 16384;
  expect_only("within-budget");
}

TEST_F(VerifierTest, WithinTheArenaThatThePlanAsksFor) {
  step_.plan.arena_bytes[1] = 4096;
  expect_only("within-budget");
}

TEST_F(VerifierTest, SourceMustBeFilled) {
  step_.plan.migrations.erase(step_.plan.migrations.begin());  // the eviction
  expect_only("source-stays-valid");
}

TEST_F(VerifierTest, SourceMustKeepItsRoom) {
  residency(T::kXFile).ops.end = 2;  // the prefetch reads it until op 3
  expect_only("source-stays-valid");
}

TEST_F(VerifierTest, SourceMustNotBeWrittenWhileItIsCopied) {
  step_.graph.op(1).outputs = {T::kX, T::kM};
  step_.plan.graph_fingerprint = step_.graph.fingerprint();
  step_.plan.ops[1].operand_tiers = {0, 0};
  EXPECT_THAT(rules_broken(step_), Contains("source-stays-valid"));
}

// At op 2 x leaves [4096, 12288) and m's successor arrives there: only behind the eviction in issue order.
TEST_F(VerifierTest, RoomIsHandedOverInIssueOrder) {
  migration(T::kEvict) = {T::kX, T::kXDram, T::kXFile, 1, 2};
  migration(T::kPrefetch) = {T::kX, T::kXFile, T::kXDramAgain, 1, 3};
  residency(T::kXFile).ops.begin = 1;
  EXPECT_THAT(rules_broken(step_), ::testing::IsEmpty());
  std::swap(migration(0), migration(1));
  EXPECT_THAT(rules_broken(step_), Contains("source-stays-valid"));
}

TEST_F(VerifierTest, DestinationNotReadEarlyByAnOp) {
  migration(T::kPrefetch).needed_by = 4;  // op 3 reads it
  residency(T::kXFile).ops.end = 4;
  expect_only("destination-not-read-early");
}

TEST_F(VerifierTest, DestinationNotReadEarlyByAMigration) {
  residency(T::kXDram).ops.end = 3;
  residency(T::kXDramAgain).ops.begin = 3;
  residency(T::kXFile).ops.end = 4;
  migration(T::kEvict).needed_by = 3;
  migration(T::kPrefetch) = {T::kX, T::kXFile, T::kXDramAgain, 2, 3};
  EXPECT_THAT(rules_broken(step_), ::testing::IsEmpty());
  residency(T::kXDram).ops.end = 2;
  residency(T::kXDramAgain).ops.begin = 2;
  migration(T::kPrefetch).issue_after = 1;  // the file's copy is there only at op 3
  EXPECT_THAT(rules_broken(step_), Contains("destination-not-read-early"));
}

// t is made in op 0, copied to the slow tier, updated in fast memory by op 1 and read by op 2.
testing::TinyStep updated_after_copy() {
  testing::TinyStep step;
  step.graph.name = "updated";
  testing::add_tiny_tensor(step.graph, "t", graph::Role::kActivation, 4096);
  testing::add_tiny_tensor(step.graph, "loss", graph::Role::kOutput, 4);
  testing::add_tiny_op(step.graph, "make", {}, {0});
  testing::add_tiny_op(step.graph, "update", {0}, {0});
  testing::add_tiny_op(step.graph, "read", {0}, {1});
  step.machine = testing::tiny_machine(memory::TierKind::kEmulated);
  step.plan.graph_fingerprint = step.graph.fingerprint();
  step.plan.machine_fingerprint = step.machine.fingerprint();
  step.plan.budgets = step.plan.arena_bytes = {8192, 4096};
  step.plan.ops = {{0, {0}}, {0, {0, 0}}, {0, {0, 0}}};
  step.plan.residencies = {{0, 0, 0, {0, 3}}, {0, 1, 0, {1, 3}}, {1, 0, 4096, {2, 3}}};
  step.plan.migrations = {{0, 0, 1, 0, 1}};
  return step;
}

TEST_F(VerifierTest, WriteInvalidatesForOps) {
  step_ = updated_after_copy();
  EXPECT_THAT(rules_broken(step_), ::testing::IsEmpty());
  step_.plan.ops[2].operand_tiers[0] = 1;
  expect_only("write-invalidates");
}

TEST_F(VerifierTest, WriteInvalidatesForMigrations) {
  step_ = updated_after_copy();
  residency(0).ops.end = 2;
  step_.plan.residencies.push_back({0, 0, 0, {2, 3}});
  step_.plan.migrations.push_back({0, 1, 3, 1, 2});  // back from the old copy
  expect_only("write-invalidates");
}

TEST_F(VerifierTest, AStaleRoomMayBeFilledAgain) {
  step_ = updated_after_copy();
  step_.plan.migrations.push_back({0, 0, 1, 1, 2});
  step_.plan.ops[2].operand_tiers[0] = 1;
  EXPECT_THAT(rules_broken(step_), ::testing::IsEmpty());
}

// w begins in the file, is prefetched, updated by the last op and written back behind it.
testing::TinyStep parameter_in_file() {
  testing::TinyStep step = testing::tiny_step();
  step.plan.residencies[testing::TinyStep::kWDram].ops = {0, 5};
  step.plan.residencies.push_back({testing::TinyStep::kW, 1, 8192, {0, 1}});
  step.plan.residencies.push_back({testing::TinyStep::kW, 1, 8192, {4, 5}});
  step.plan.migrations.insert(step.plan.migrations.begin(),
                              {testing::TinyStep::kW, 7, testing::TinyStep::kWDram, kStepStart, 0});
  step.plan.migrations.push_back({testing::TinyStep::kW, testing::TinyStep::kWDram, 8, 4, 5});
  step.plan.arena_bytes[1] = 12288;
  return step;
}

TEST_F(VerifierTest, CycleClosed) {
  step_ = parameter_in_file();
  EXPECT_THAT(rules_broken(step_), ::testing::IsEmpty());
  step_.plan.migrations.pop_back();
  expect_only("cycle-closed");
}

TEST_F(VerifierTest, CycleClosesAtTheSameOffset) {
  step_ = parameter_in_file();
  residency(8).offset = 0;
  expect_only("cycle-closed");
}

TEST_F(VerifierTest, StepStartsInOnePlace) {
  step_ = parameter_in_file();
  step_.plan.migrations.erase(step_.plan.migrations.begin());
  expect_only("cycle-closed");
  step_.plan.residencies.erase(step_.plan.residencies.begin() + 7, step_.plan.residencies.end());
  step_.plan.migrations.pop_back();
  EXPECT_THAT(rules_broken(step_), ::testing::IsEmpty());
  residency(T::kWDram).ops.begin = 1;  // nowhere at op 0
  EXPECT_THAT(rules_broken(step_), Contains("cycle-closed"));
}

TEST_F(VerifierTest, LinkExists) {
  step_.machine.links.pop_back();
  step_.plan.machine_fingerprint = step_.machine.fingerprint();
  expect_only("link-exists");
}

TEST_F(VerifierTest, WellFormed) {
  const testing::TinyStep sound = step_;
  const std::vector<void (*)(Plan&)> damages = {
      [](Plan& plan) { plan.ops.pop_back(); },
      [](Plan& plan) { plan.budgets.pop_back(); },
      [](Plan& plan) { plan.arena_bytes.push_back(0); },
      [](Plan& plan) { plan.ops[0].operand_tiers.pop_back(); },
      [](Plan& plan) { plan.ops[0].operand_tiers[0] = 2; },
      [](Plan& plan) { plan.ops[0].implementation = 1; },
      [](Plan& plan) { plan.ops[4].operand_tiers[2] = 1; },  // w is updated in place
      [](Plan& plan) { plan.residencies[0].tensor = 5; },
      [](Plan& plan) { plan.residencies[0].tier = -1; },
      [](Plan& plan) { plan.residencies[0].offset = -4096; },
      [](Plan& plan) { plan.residencies[0].offset = 100; },
      [](Plan& plan) { plan.residencies[0].offset = std::numeric_limits<Bytes>::max() / 4096 * 4096; },
      [](Plan& plan) {
        plan.residencies[0].ops = {3, 3};
      },
      [](Plan& plan) {
        plan.residencies[0].ops = {0, 6};
      },
      [](Plan& plan) { plan.residencies[1].ops.end = 3; },  // x twice in DRAM at op 2
      [](Plan& plan) { plan.migrations[0].from = 7; },
      [](Plan& plan) { plan.migrations[0].to = -1; },
      [](Plan& plan) { plan.migrations[0].tensor = 0; },
      [](Plan& plan) { plan.migrations[0].from = 2; },  // within one tier
      [](Plan& plan) { plan.migrations[0].needed_by = 0; },
      [](Plan& plan) { plan.migrations[1].needed_by = 6; },
      [](Plan& plan) { plan.migrations[0].issue_after = -2; },
      [](Plan& plan) { plan.residencies[3].ops.begin = 3; },  // no room when the copy may start
      [](Plan& plan) { std::swap(plan.migrations[0], plan.migrations[1]); },
  };
  for (std::size_t i = 0; i < damages.size(); ++i) {
    SCOPED_TRACE(i);
    step_ = sound;
    damages[i](step_.plan);
    expect_only("well-formed");
  }
}

TEST_F(VerifierTest, RefusesImplementationsThatTheOpHasNot) {
  step_.plan.ops[0].implementation = 1;
  expect_only("well-formed");
  step_.plan.ops[0].implementation = -1;
  expect_only("well-formed");
}

TEST_F(VerifierTest, RefusesProcessorsThatTheMachineHasNot) {
  step_.plan.ops[3].processor = 1;
  expect_only("well-formed");
  step_.machine.processors = {{.name = "device"}, {.name = "host"}};
  step_.plan.machine_fingerprint = step_.machine.fingerprint();
  EXPECT_TRUE(verify_plan(step_.graph, step_.machine, step_.plan).empty());
}

TEST_F(VerifierTest, AProcessorWithoutAKernelForTheOp) {
  step_.machine.processors = {{.name = "device"}, {.name = "host", .backend = "reference"}};
  step_.plan.machine_fingerprint = step_.machine.fingerprint();
  step_.graph.op(3).no_kernel_on = {1};
  step_.plan.graph_fingerprint = step_.graph.fingerprint();
  EXPECT_THAT(rules_broken(step_), ::testing::IsEmpty());
  step_.plan.ops[3].processor = 1;
  expect_only("well-formed");
  EXPECT_THAT(verify_plan(step_.graph, step_.machine, step_.plan).front().message,
              HasSubstr("processor 1 has no kernel for it"));
}

TEST_F(VerifierTest, ReportsAProcessorThatCannotAddressItsOperand) {
  step_.machine.processors = {{.name = "device"}, {.name = "host", .tiers = {1}}};
  step_.plan.machine_fingerprint = step_.machine.fingerprint();
  step_.plan.ops[3].processor = 1;  // everything is in DRAM there
  expect_only("tier-addressable");
  EXPECT_THAT(verify_plan(step_.graph, step_.machine, step_.plan).front().message,
              HasSubstr("which processor 1 'host' may not address"));
}

TEST_F(VerifierTest, ReportsInOpOrder) {
  residency(T::kWDram).ops.end = 4;        // op 4 updates it there
  step_.plan.ops[2].operand_tiers[0] = 1;  // m is not in the file
  const auto violations = verify_plan(step_.graph, step_.machine, step_.plan);
  ASSERT_GE(violations.size(), 3u);
  EXPECT_THAT(violations.front().message, HasSubstr("op 2 'second'"));
  EXPECT_EQ(violations.back().rule, Rule::kCycleClosed);
}

}  // namespace
}  // namespace sluice::plan
