#include "sluice/planners/zero_offload/updates_last.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::planners {
namespace {

using ::testing::ElementsAre;

// Passes make "early" (op 0) and "late" (op 2), and updates between them use these.
class UpdatesOfAStep : public ::testing::Test {
 protected:
  graph::TensorId tensor(const char* name, graph::Role role) {
    return graph_.add_tensor({.name = name, .shape = {4}, .role = role});
  }

  void add(graph::Phase phase, std::vector<graph::TensorId> inputs, std::vector<graph::TensorId> outputs) {
    graph_.add_op(
        {.kind = graph::OpKind::kAdd, .inputs = std::move(inputs), .outputs = std::move(outputs), .phase = phase});
  }

  std::vector<graph::OpIndex> order() const {
    std::vector<graph::OpIndex> own;
    for (graph::OpIndex op = 0; op < graph_.op_count(); ++op) own.push_back(op);
    return updates_last(graph_, own);
  }

  graph::Graph graph_;
  const graph::TensorId early_ = tensor("early", graph::Role::kGradient),
                        late_ = tensor("late", graph::Role::kGradient);
  const graph::TensorId a_ = tensor("a", graph::Role::kOptimizerState), b_ = tensor("b", graph::Role::kOptimizerState);
};

TEST_F(UpdatesOfAStep, RunBehindThePassesByWhenTheirGradientsAreThere) {
  add(graph::Phase::kBackward, {}, {early_});
  add(graph::Phase::kUpdate, {a_}, {a_});  // needs nothing of the passes
  add(graph::Phase::kBackward, {early_}, {late_});
  add(graph::Phase::kUpdate, {late_, b_}, {b_});
  const graph::TensorId c = tensor("c", graph::Role::kOptimizerState);
  add(graph::Phase::kUpdate, {c}, {c});
  EXPECT_THAT(order(), ElementsAre(0, 2, 1, 4, 3));
}

// Behind the passes, such a copy would have the host wait for all of them.
TEST_F(UpdatesOfAStep, FindPartsOfRanksCopiedInThePasses) {
  const graph::TensorId w = tensor("w", graph::Role::kParameter), part = tensor("w.part", graph::Role::kGradient);
  add(graph::Phase::kBackward, {w}, {early_});
  graph_.add_op({.kind = graph::OpKind::kOwnPart, .inputs = {w}, .outputs = {part}, .phase = graph::Phase::kUpdate});
  add(graph::Phase::kUpdate, {part, early_}, {part});
  add(graph::Phase::kBackward, {early_}, {late_});
  EXPECT_THAT(order(), ElementsAre(0, 1, 3, 2));
}

TEST_F(UpdatesOfAStep, StayInOrderWhereOneReadsWhatAnotherHasWritten) {
  add(graph::Phase::kBackward, {}, {late_});
  add(graph::Phase::kUpdate, {late_}, {a_});
  add(graph::Phase::kUpdate, {a_}, {b_});
  EXPECT_THAT(order(), ElementsAre(0, 1, 2));
}

TEST_F(UpdatesOfAStep, OverwriteNothingThatALaterOneHasNotReadYet) {
  add(graph::Phase::kBackward, {}, {late_});
  add(graph::Phase::kUpdate, {late_, a_}, {b_});  // reads a, late
  const graph::TensorId c = tensor("c", graph::Role::kOptimizerState);
  add(graph::Phase::kUpdate, {c}, {a_});  // could run at once, but for a
  add(graph::Phase::kUpdate, {c}, {c});
  EXPECT_THAT(order(), ElementsAre(0, 1, 2, 3)) << "the last one overwrites what the one before reads";
}

}  // namespace
}  // namespace sluice::planners
