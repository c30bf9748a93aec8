#include "sluice/planners/zero_offload/updates_last.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::testing::ElementsAre;

// Passes make "early" (op 0) and "late" (op 2), and updates between them use these.
class UpdatesOfAStep : public ::testing::Test {
 protected:
  TensorId tensor(const char* name, Role role) { return graph_.add_tensor({.name = name, .shape = {4}, .role = role}); }

  void add(Phase phase, std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
    graph_.add_op({.kind = OpKind::kAdd, .inputs = std::move(inputs), .outputs = std::move(outputs), .phase = phase});
  }

  std::vector<OpIndex> order() const {
    std::vector<OpIndex> own;
    for (OpIndex op = 0; op < graph_.op_count(); ++op) own.push_back(op);
    return updates_last(graph_, own);
  }

  Graph graph_;
  const TensorId early_ = tensor("early", Role::kGradient), late_ = tensor("late", Role::kGradient);
  const TensorId a_ = tensor("a", Role::kOptimizerState), b_ = tensor("b", Role::kOptimizerState);
};

TEST_F(UpdatesOfAStep, RunBehindThePassesByWhenTheirGradientsAreThere) {
  add(Phase::kBackward, {}, {early_});
  add(Phase::kUpdate, {a_}, {a_});  // needs nothing of the passes
  add(Phase::kBackward, {early_}, {late_});
  add(Phase::kUpdate, {late_, b_}, {b_});
  const TensorId c = tensor("c", Role::kOptimizerState);
  add(Phase::kUpdate, {c}, {c});
  EXPECT_THAT(order(), ElementsAre(0, 2, 1, 4, 3));
}

// Behind the passes, such a copy would have the host wait for all of them.
TEST_F(UpdatesOfAStep, FindPartsOfRanksCopiedInThePasses) {
  const TensorId w = tensor("w", Role::kParameter), part = tensor("w.part", Role::kGradient);
  add(Phase::kBackward, {w}, {early_});
  graph_.add_op({.kind = OpKind::kOwnPart, .inputs = {w}, .outputs = {part}, .phase = Phase::kUpdate});
  add(Phase::kUpdate, {part, early_}, {part});
  add(Phase::kBackward, {early_}, {late_});
  EXPECT_THAT(order(), ElementsAre(0, 1, 3, 2));
}

TEST_F(UpdatesOfAStep, StayInOrderWhereOneReadsWhatAnotherHasWritten) {
  add(Phase::kBackward, {}, {late_});
  add(Phase::kUpdate, {late_}, {a_});
  add(Phase::kUpdate, {a_}, {b_});
  EXPECT_THAT(order(), ElementsAre(0, 1, 2));
}

TEST_F(UpdatesOfAStep, OverwriteNothingThatALaterOneHasNotReadYet) {
  add(Phase::kBackward, {}, {late_});
  add(Phase::kUpdate, {late_, a_}, {b_});  // reads a, late
  const TensorId c = tensor("c", Role::kOptimizerState);
  add(Phase::kUpdate, {c}, {a_});  // could run at once, but for a
  add(Phase::kUpdate, {c}, {c});
  EXPECT_THAT(order(), ElementsAre(0, 1, 2, 3)) << "the last one overwrites what the one before reads";
}

}  // namespace
}  // namespace sluice
