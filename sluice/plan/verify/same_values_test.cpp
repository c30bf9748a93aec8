// Schedules against what a step computes: whatever is accepted reads the same values, and what would not is refused.
#include "sluice/plan/verify/same_values.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/base/random.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/graph/value_numbers.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/random_schedule.hpp"

namespace sluice::plan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::random_graph;
using testing::random_schedule;

std::vector<Violation> violations_of(const graph::Graph& graph, const std::vector<graph::OpIndex>& schedule) {
  return check_same_values(graph, graph::reschedule(graph, schedule).value(), 20);
}

std::vector<graph::OpIndex> own_order_of(const graph::Graph& graph) {
  std::vector<graph::OpIndex> order;
  for (graph::OpIndex index = 0; index < graph.op_count(); ++index) order.push_back(index);
  return order;
}

// A stand-in for running: an op makes each output from its kind, its attributes and what it reads. A whole batch norm
// makes the statistics from x, and then y from x, scale and shift, these and what is added, as its apply part does.
class Values {
 public:
  explicit Values(const graph::Rescheduled& step) {
    for (const graph::TensorId id : step.tensor_of) values_.push_back(mix64(static_cast<std::uint64_t>(id) + 1));
  }

  void run(const graph::Op& op) {
    const graph::Op form = graph::repeated_form(op);
    const auto seed = static_cast<std::uint64_t>(form.kind) * 2 + (op.slice.partial ? 1 : 0);
    if (op.kind == graph::OpKind::kBatchNorm) {
      const std::uint64_t of_x = mix64(seed * 31 + at(op.inputs[0]));
      const std::uint64_t running = mix64(of_x * 31 + at(op.inputs[2]));
      at(op.outputs[1]) = of_x;
      if (op.outputs.size() > 2) at(op.outputs[2]) = running;
    }
    mix(form, seed);
  }

  std::uint64_t& at(graph::TensorId id) { return values_[as_index(id)]; }

 private:
  void mix(const graph::Op& op, std::uint64_t mixed) {
    for (const graph::TensorId id : op.inputs) mixed = mix64(mixed * 31 + at(id));
    for (std::size_t o = 0; o < op.outputs.size(); ++o) at(op.outputs[o]) = mix64(mixed + o);
  }

  std::vector<std::uint64_t> values_;
};

std::vector<std::uint64_t> results_of(const graph::Graph& given, const graph::Rescheduled& step) {
  Values values(step);
  for (graph::OpIndex slot = 0; slot < step.graph.op_count(); ++slot) {
    values.run(step.graph.op(slot));
  }
  std::vector<std::uint64_t> kept;
  for (graph::TensorId id = 0; id < given.tensor_count(); ++id) {
    const graph::Role role = given.tensor(id).role;
    if (graph::is_persistent(role) || role == graph::Role::kOutput) kept.push_back(values.at(id));
  }
  return kept;
}

TEST(SameValues, TheGraphsOwnOrderIsRight) {
  const graph::Graph graph = testing::random_graph(1);
  EXPECT_THAT(violations_of(graph, own_order_of(graph)), IsEmpty());
}

TEST(SameValues, RandomSchedulesThatAreAcceptedComputeTheSame) {
  std::size_t repeated = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    const graph::Graph graph = testing::random_graph(seed);
    const std::vector<graph::OpIndex> schedule = testing::random_schedule(graph, seed);
    const std::vector<Violation> violations = violations_of(graph, schedule);
    ASSERT_TRUE(violations.empty()) << violations.front().message;
    const auto own = results_of(graph, graph::reschedule(graph, own_order_of(graph)).value());
    ASSERT_EQ(results_of(graph, graph::reschedule(graph, schedule).value()), own);
    repeated += schedule.size() - graph.ops().size();
  }
  EXPECT_GT(repeated, 1000U) << "ops really run again";
}

// One entry of a sound schedule moved, doubled or dropped: what then computes something else must be refused.
TEST(SameValues, WhatComputesSomethingElseIsRefused) {
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE(seed);
    const graph::Graph graph = testing::random_graph(seed % 40 + 1);
    std::vector<graph::OpIndex> schedule = testing::random_schedule(graph, seed, 1.2);
    const auto at = [&](std::uint64_t stream) {
      return schedule.begin() + static_cast<std::ptrdiff_t>(random_bits(seed, stream, 0) % schedule.size());
    };
    switch (random_bits(seed, 9, 0) % 3) {
      case 0:
        std::iter_swap(at(2), at(3));
        break;
      case 1:
        schedule.insert(at(4), *at(5));
        break;
      default:
        schedule.erase(at(6));
    }
    const auto own = results_of(graph, graph::reschedule(graph, own_order_of(graph)).value());
    const bool same = results_of(graph, graph::reschedule(graph, schedule).value()) == own;
    const bool accepted = violations_of(graph, schedule).empty();
    ASSERT_TRUE(same || !accepted);
    refused += accepted ? 0 : 1;
  }
  EXPECT_GT(refused, 300U);
}

TEST(SameValues, AnUpdateRunsOnce) {
  const graph::Graph graph = testing::random_graph(3);
  std::vector<graph::OpIndex> schedule = own_order_of(graph);
  const auto update =
      std::ranges::find_if(schedule, [&](graph::OpIndex index) { return graph::is_update(graph.op(index).kind); });
  ASSERT_NE(update, schedule.end());
  schedule.insert(update, *update);
  const std::vector<Violation> violations = violations_of(graph, schedule);
  ASSERT_FALSE(violations.empty());
  EXPECT_EQ(violations.front().rule, Rule::kSameValues);
  EXPECT_THAT(violations.front().message, HasSubstr("runs once a step"));
}

// Whatever kind of op it is: repeated in a chain, before one that reads its result, it is refused by its name.
TEST(SameValues, AChainThatRepeatsWhatMayNotRepeatIsRefusedByItsName) {
  std::set<graph::OpKind> kinds;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const graph::Graph graph = testing::random_graph(seed);
    const std::vector<graph::OpIndex> own = own_order_of(graph);
    for (const graph::OpIndex once : own) {
      if (graph::may_repeat(graph.op(once).kind) || !kinds.insert(graph.op(once).kind).second) continue;
      std::vector<graph::OpIndex> schedule = own;
      const auto reader = std::ranges::find_if(own, [&](graph::OpIndex op) {
        return op > once &&
               std::ranges::find_first_of(graph.op(op).inputs, graph.op(once).outputs) != graph.op(op).inputs.end();
      });
      schedule.insert(schedule.begin() + (reader - own.begin()), once);
      const std::vector<Violation> violations = violations_of(graph, schedule);
      ASSERT_FALSE(violations.empty());
      EXPECT_EQ(violations.front().rule, Rule::kSameValues);
      EXPECT_THAT(violations.front().message,
                  AllOf(HasSubstr("runs " + graph.op(once).name + " again"), HasSubstr("runs once a step")));
    }
  }
  EXPECT_GE(kinds.size(), 2U) << "an input and an update, at least";
}

// Nobody in the step reads the result, so only its end tells which of two ops wrote it last.
TEST(SameValues, WhatTheCallerReadsAtTheEndIsTheLastVersion) {
  graph::Graph graph;
  const graph::TensorId x = graph.add_tensor({.name = "x", .shape = {4}, .role = graph::Role::kParameter});
  const graph::TensorId y = graph.add_tensor({.name = "y", .shape = {4}, .role = graph::Role::kOutput});
  for (const char* name : {"first", "second"}) {
    graph::Op op;
    op.name = name;
    op.kind = graph::OpKind::kUnary;
    op.attributes =
        graph::UnaryAttributes{.alpha = static_cast<float>(graph.op_count())};  // else they make the same value
    op.inputs = {x};
    op.outputs = {y};
    graph.add_op(op);
  }
  EXPECT_THAT(violations_of(graph, {0, 1}), IsEmpty());
  const std::vector<Violation> violations = violations_of(graph, {1, 0});
  ASSERT_EQ(violations.size(), 1U);
  EXPECT_THAT(violations[0].message,
              HasSubstr("at the end y holds what first writes where the graph's order leaves what second writes"));
}

// x > a > b and a > b.again, read by c.
graph::Graph graph_with_a_repetition() {
  graph::Graph graph;
  const graph::TensorId x = graph.add_tensor({.name = "x", .shape = {4}, .role = graph::Role::kParameter});
  const auto emit = [&](const char* name, graph::OpKind kind, graph::TensorId input, graph::Role role) {
    const graph::TensorId made = graph.add_tensor({.name = name, .shape = {4}, .role = role});
    graph.add_op({.name = name, .kind = kind, .inputs = {input}, .outputs = {made}});
    return made;
  };
  const graph::TensorId a = emit("a", graph::OpKind::kUnary, x, graph::Role::kActivation);
  emit("b", graph::OpKind::kRelu, a, graph::Role::kActivation);
  emit("c", graph::OpKind::kSoftmax, emit("b.again", graph::OpKind::kRelu, a, graph::Role::kActivation),
       graph::Role::kOutput);
  return graph;
}

TEST(SameValues, WhatOnlyMakesAgainMayBeLeftOutWhereTheFirstIsKept) {
  const graph::Graph graph = graph_with_a_repetition();
  EXPECT_THAT(violations_of(graph, {0, 1, 3}), IsEmpty()) << "c reads b";
  EXPECT_THAT(violations_of(graph, {0, 2, 3}).front().message, HasSubstr("op b never runs"));
  EXPECT_THAT(violations_of(graph, {0, 3, 1}).front().message, HasSubstr("reads of b.again what was there before"));
}

TEST(SameValues, AnOpRunsInOneWayHoweverOften) {
  const graph::Graph graph = graph_with_a_repetition();
  const auto choices = [&](const std::vector<graph::OpIndex>& schedule, const std::vector<graph::OpChoice>& chosen) {
    return check_same_choices(graph, schedule, chosen, 20);
  };
  const graph::OpChoice own, other{1, 0}, elsewhere{0, 1};
  EXPECT_THAT(choices({0, 1, 2, 3}, {other, own, own, elsewhere}), IsEmpty()) << "each op for itself";
  EXPECT_THAT(choices({0, 1, 0, 3}, {other, own, other, own}), IsEmpty());
  EXPECT_THAT(choices({0, 1, 0, 3}, {other, own, own, own}).front().message, HasSubstr("slots 0 and 2 run"));
  EXPECT_THAT(choices({0, 1, 2, 3}, {own, own, elsewhere, own}), IsEmpty()) << "op 2 repeats op 1, by itself";
  EXPECT_EQ(choices({0, 0, 0}, {own, other, elsewhere}).size(), 2u);
}

TEST(SameValues, WhatTheCallerReadsIsMadeAgain) {
  graph::Graph graph = graph_with_a_repetition();
  EXPECT_THAT(graph::repetitions(graph), ::testing::SizeIs(1));
  graph.tensor(3).role = graph::Role::kOutput;
  EXPECT_THAT(graph::repetitions(graph), IsEmpty());
  EXPECT_THAT(violations_of(graph, {0, 1, 3}), ::testing::Not(IsEmpty()));
}

TEST(SameValues, WhatReadsAnotherValueOrDoesAnotherThingIsNoRepetition) {
  const auto refused = [](auto change) {
    graph::Graph graph = graph_with_a_repetition();
    change(graph);
    return violations_of(graph, {0, 1, 3});
  };
  EXPECT_THAT(refused([](graph::Graph& graph) { graph.op(2).inputs = {0}; }), ::testing::SizeIs(2))
      << "read and never run";
  EXPECT_THAT(refused([](graph::Graph& graph) { graph.op(2).slice.end = 1; }), ::testing::SizeIs(2));
  EXPECT_THAT(refused([](graph::Graph& graph) { graph.tensor(3).layout = "blocked"; }), ::testing::SizeIs(2));
  EXPECT_THAT(refused([](graph::Graph& graph) {
                graph.op(2).implementations = {{"direct", 0}, {"winograd", 64}};
              }),
              ::testing::SizeIs(2));
}

TEST(SameValues, AnOpThatIsLeftOutIsNamed) {
  const graph::Graph graph = testing::random_graph(3);
  std::vector<graph::OpIndex> schedule = own_order_of(graph);
  const graph::OpIndex missing = schedule.back();
  schedule.pop_back();
  EXPECT_THAT(violations_of(graph, schedule).front().message, HasSubstr(graph.op(missing).name + " never runs"));
}

}  // namespace
}  // namespace sluice::plan
