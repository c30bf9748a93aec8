// What is evicted and made again: steps worked out by hand, then random ones with every read checked.
#include "sluice/policies/dtr/dtr.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sluice/base/as_index.hpp"
#include "sluice/policies/dtr/checked_arena_for_tests.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/seeded_random.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::policies {
namespace {

using testing::CheckedArena;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Bytes kSlot = 64;

// Tensors by name, in slots of 64 bytes; w is a parameter, loss the output.
class DrawnGraph {
 public:
  DrawnGraph() {
    graph_.name = "drawn";
    graph_.layers = {"all"};
    add("w", graph::Role::kParameter);
  }
  DrawnGraph& op(const std::vector<std::string>& reads, const std::string& writes, Bytes slots = 1) {
    std::vector<graph::TensorId> inputs;
    for (const std::string& name : reads) inputs.push_back(ids_.at(name));
    if (!ids_.contains(writes)) add(writes, writes == "loss" ? graph::Role::kOutput : graph::Role::kActivation, slots);
    testing::add_tiny_op(graph_, writes.c_str(), inputs, {ids_.at(writes)});
    graph::Op& added = graph_.op(graph_.op_count() - 1);
    added.slice.begin = graph_.op_count();  // no two make the same
    return *this;
  }
  const graph::Graph& graph() const { return graph_; }
  graph::TensorId id(const std::string& name) const { return ids_.at(name); }

 private:
  void add(const std::string& name, graph::Role role, Bytes slots = 1) {
    ids_[name] = testing::add_tiny_tensor(graph_, name.c_str(), role, slots * kSlot);
  }

  graph::Graph graph_;
  std::map<std::string, graph::TensorId> ids_;
};

std::vector<std::string> events_of(const graph::Graph& graph, Bytes slots, const std::vector<Seconds>& costs) {
  Dtr dtr = Dtr::create(graph, slots * kSlot).value();
  CheckedArena arena(dtr, costs);
  const Result<DtrStep> done = dtr.run_step(arena);
  EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
  EXPECT_THAT(arena.faults(), IsEmpty());
  return arena.events();
}

// Behind op 2 the clock is at 12: h of a is 1 / 11, of b 10 / 1. When a is gone there are two slots for d, but apart, so
// that b goes as well.
TEST(Dtr, EvictsTheSmallestHUntilThereIsAHole) {
  DrawnGraph drawn;
  drawn.op({"w"}, "a").op({"w"}, "b").op({"w"}, "c").op({"c"}, "d", 2).op({"d"}, "e").op({"e", "a", "b"}, "loss");
  EXPECT_THAT(events_of(drawn.graph(), 5, {1, 10, 1, 1, 1, 1}),
              ElementsAreArray(
                  {"0", "1", "2", "evict a", "evict b", "3", "evict c", "4", "evict d", "again 0", "again 1", "5"}));
}

// When y wants room the clock is at 13, and h of a and of b is 4 / 5: of equals the first goes. When x does, it is at 113:
// h of b is (4 + 4) / 105 with the neighbour a, which is evicted, of z 5 / 100. Without neighbours b would go.
TEST(Dtr, CountsTheEvictedNeighbourhood) {
  DrawnGraph drawn;
  drawn.op({"w"}, "a").op({"a"}, "b").op({"w"}, "z").op({"w"}, "y").op({"w"}, "x");
  drawn.op({"a"}, "t1").op({"t1", "b"}, "t2").op({"t2", "z"}, "t3").op({"t3", "y"}, "t4").op({"t4", "x"}, "loss");
  std::vector<std::string> events = events_of(drawn.graph(), 4, {4, 4, 5, 100, 1, 1, 1, 1, 1, 1});
  events.resize(7);
  EXPECT_THAT(events, ElementsAreArray({"0", "1", "2", "evict a", "3", "evict z", "4"}));
}

// a and b are evicted when nobody reads them any more, c when something large wants its room. For the last op all three
// are made again, each of the one before; the loss then takes the place of a, which was used longer ago than b.
TEST(Dtr, MakesAgainWhatIsMissedForIt) {
  DrawnGraph drawn;
  drawn.op({"w"}, "a").op({"a"}, "b").op({"b"}, "c").op({"w"}, "large", 3).op({"c"}, "loss");
  EXPECT_THAT(events_of(drawn.graph(), 4, {1, 1, 1, 1, 1}),
              ElementsAreArray({"0", "1", "evict a", "2", "evict b", "evict c", "3", "again 0", "again 1", "again 2",
                                "evict a", "4"}));
}

// Op 2 overwrites a. The last but one op reads m, made of the first a, which is made again for it and stays; the last
// one reads the second a, and op 2 overwrites the first once more: each time the first is evicted.
TEST(Dtr, AnOpInPlaceRunsAgainFromWhatItOverwrote) {
  DrawnGraph drawn;
  drawn.op({"w"}, "a").op({"a"}, "m").op({"a"}, "a").op({"w"}, "large", 4).op({"m"}, "t").op({"t", "a"}, "loss");
  EXPECT_THAT(events_of(drawn.graph(), 5, {1, 1, 1, 1, 1, 1}),
              ElementsAreArray({"0", "1", "2", "evict a", "evict m", "evict a", "3", "again 0", "again 1", "4",
                                "evict m", "again 2", "evict a", "5"}));
}

TEST(Dtr, WithRoomForAllNothingIsMadeAgain) {
  DrawnGraph drawn;
  drawn.op({"w"}, "a").op({"a"}, "b").op({"b", "a"}, "loss").op({"w", "b"}, "w");
  Dtr dtr = Dtr::create(drawn.graph(), 4 * kSlot).value();
  CheckedArena arena(dtr, {1, 2, 3, 4});
  const DtrStep done = dtr.run_step(arena).value();
  EXPECT_EQ(done.computation, 10);
  EXPECT_EQ(done.recomputation, 0);
  EXPECT_EQ(done.runs_again, 0);
  EXPECT_EQ(done.most_bytes, 4 * kSlot);
  EXPECT_EQ(dtr.offset_of(drawn.id("w")), 0);
  EXPECT_TRUE(dtr.offset_of(drawn.id("loss")));
}

TEST(Dtr, SaysWhatDoesNotFit) {
  DrawnGraph drawn;
  drawn.op({"w"}, "a").op({"a"}, "b", 2).op({"b", "a"}, "loss");
  const auto no_parameters = Dtr::create(drawn.graph(), kSlot);
  ASSERT_FALSE(no_parameters.ok());
  EXPECT_EQ(no_parameters.error().code, ErrorCode::kInfeasible);
  EXPECT_THAT(no_parameters.error().message, HasSubstr("these take 64 B, and the budget is 64 B"));
  Dtr dtr = Dtr::create(drawn.graph(), 3 * kSlot).value();
  CheckedArena arena(dtr, {1, 1, 1});
  const auto done = dtr.run_step(arena);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::kNoneFound);
  EXPECT_THAT(done.error().message, HasSubstr("no room for b (128 B) at op b (1 of 3)"));
  EXPECT_THAT(done.error().message, HasSubstr("raise --fast"));
}

// Every value of a long chain is read again, from the last to the first, with room for a few: those that are missed are
// made again from far before. What the readers make is too dear to go.
TEST(Dtr, GivesUpWhereAStepMakesTooMuchAgain) {
  DrawnGraph drawn;
  constexpr int kLength = 600;
  drawn.op({"w"}, "v0");
  for (int i = 1; i < kLength; ++i) drawn.op({fmt::format("v{}", i - 1)}, fmt::format("v{}", i));
  drawn.op({fmt::format("v{}", kLength - 1)}, fmt::format("g{}", kLength));
  for (int i = kLength - 1; i > 0; --i) {
    drawn.op({fmt::format("g{}", i + 1), fmt::format("v{}", i - 1)}, fmt::format("g{}", i));
  }
  drawn.op({"g1"}, "loss");
  Dtr dtr = Dtr::create(drawn.graph(), 5 * kSlot).value();
  std::vector<Seconds> costs(drawn.graph().ops().size(), 1e6);
  std::fill_n(costs.begin(), kLength, 1);
  CheckedArena arena(dtr, costs);
  const auto done = dtr.run_step(arena);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::kNoneFound);
  EXPECT_THAT(done.error().message, HasSubstr("30 for each op of the step"));
}

struct Totals {
  std::int64_t steps = 0, evictions = 0, runs_again = 0;
  int moves = 0;
};

// In budgets from what everything takes down to what does not do. The arena checks every read.
void run_in_every_budget(std::uint64_t seed, Totals& totals) {
  const graph::Graph graph = testing::random_graph(seed);
  testing::SeededRandom random(seed);
  std::vector<Seconds> costs(graph.ops().size());
  for (Seconds& cost : costs) cost = random.between(1, 9);
  Bytes everything = 0;
  for (const graph::Tensor& tensor : graph.tensors()) everything += align_up(tensor.bytes, kSlot);
  for (int percent = 100; percent > 0; percent -= 4) {
    SCOPED_TRACE(fmt::format("seed {}, {} %", seed, percent));
    Result<Dtr> dtr = Dtr::create(graph, everything * percent / 100);
    if (!dtr.ok()) break;
    for (int step = 0; step < 2; ++step) {
      CheckedArena arena(*dtr, costs);
      const Result<DtrStep> done = dtr->run_step(arena);
      EXPECT_THAT(arena.faults(), IsEmpty());
      if (!done.ok()) {
        EXPECT_EQ(done.error().code, ErrorCode::kNoneFound);
        break;
      }
      EXPECT_LE(done->most_bytes, dtr->budget());
      ++totals.steps;
      totals.evictions += done->evictions;
      totals.runs_again += done->runs_again;
      totals.moves += arena.moves();
      const auto& values = dtr->values().values;
      for (ValueId id = 0; id < static_cast<ValueId>(values.size()); ++id) {
        const StepValue& value = values[as_index(id)];
        if (value.last_use < as_id<graph::OpIndex>(dtr->values().first.size())) continue;
        EXPECT_TRUE(arena.holds(*dtr->offset_of(value.tensor), id)) << "the end of the step";
      }
    }
  }
}

TEST(Dtr, EveryOpOfRandomStepsReadsItsValuesWithinTheBudget) {
  Totals totals;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) run_in_every_budget(seed, totals);
  EXPECT_GT(totals.steps, 1000);
  EXPECT_GT(totals.evictions, 1000);
  EXPECT_GT(totals.runs_again, 1000);
  EXPECT_GT(totals.moves, 100);
}

}  // namespace
}  // namespace sluice::policies
