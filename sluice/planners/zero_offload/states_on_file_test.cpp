#include "sluice/planners/zero_offload/states_on_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/base/random.hpp"
#include "sluice/plan/rooms.hpp"

namespace sluice::planners {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Bytes kState = 64 * kKiB;

// Before `updates` updates of one state each come `passes` ops that use none.
struct Updates {
  graph::Graph graph;
  std::vector<graph::TensorId> states;
  graph::Liveness liveness;
  memory::Link file{.bandwidth = 1e9, .latency = 1e-6};

  Updates(graph::OpIndex passes, graph::OpIndex updates) {
    graph.name = "updates";
    graph.layers = {"net"};
    const graph::TensorId x = graph.add_tensor({.name = "x", .shape = {1}, .role = graph::Role::kInput, .bytes = 4});
    for (graph::OpIndex op = 0; op < passes; ++op)
      graph.add_op({.name = "pass", .kind = graph::OpKind::kReorder, .inputs = {x}});
    for (graph::OpIndex op = 0; op < updates; ++op) {
      const std::string name = "state" + std::to_string(op);
      states.push_back(graph.add_tensor(
          {.name = name, .shape = {kState / 4}, .role = graph::Role::kOptimizerState, .bytes = kState}));
      graph.add_op({.name = name + ".update",
                    .kind = graph::OpKind::kReorder,
                    .inputs = {states.back()},
                    .outputs = {states.back()}});
    }
    liveness = graph::analyze_liveness(graph);
  }

  Result<PlacedStates> place(Bytes capacity) const {
    return place_states(graph, liveness, states, {graph.op_count(), capacity}, file);
  }
};

graph::OpIndex read_at(const StateOnFile& state) { return state.visits.front().room.begin; }

TEST(HostVisits, ReadUpdateAndWriteBack) {
  const auto visits = host_visits({{.op = 4, .reads = true, .writes = true}, {.op = 6, .reads = true}}, true, 20);
  ASSERT_EQ(visits.size(), 1u);
  EXPECT_EQ(visits[0].room, (Interval<graph::OpIndex>{4, 8})) << "until the write behind the last use";
  EXPECT_TRUE(visits[0].is_read);
  EXPECT_TRUE(visits[0].is_written);
}

TEST(HostVisits, WriteNothingBackThatIsOnlyReadOrMadeAnew) {
  const auto read = host_visits({{.op = 4, .reads = true}}, true, 20);
  EXPECT_FALSE(read.at(0).is_written);
  EXPECT_EQ(read.at(0).room.end, 5);
  const auto anew = host_visits({{.op = 4, .reads = true, .writes = true}, {.op = 7, .writes = true}}, true, 20);
  ASSERT_EQ(anew.size(), 2u);
  EXPECT_FALSE(anew[0].is_written);
  EXPECT_FALSE(anew[1].is_read);
  EXPECT_TRUE(anew[1].is_written);
}

TEST(HostVisits, OfASumGoToTheFileBetweenBatches) {
  const std::vector<graph::Use> uses{
      {.op = 10, .writes = true}, {.op = 40, .reads = true, .writes = true}, {.op = 42, .reads = true}};
  const auto visits = host_visits(uses, false, 60);
  ASSERT_EQ(visits.size(), 2u);
  EXPECT_FALSE(visits[0].is_read) << "nothing is there yet";
  EXPECT_TRUE(visits[0].is_written);
  EXPECT_TRUE(visits[1].is_read);
  EXPECT_FALSE(visits[1].is_written) << "nothing needs it any more";
}

TEST(HostVisits, EndWithTheStep) {
  EXPECT_EQ(host_visits({{.op = 9, .reads = true, .writes = true}}, true, 10).at(0).room.end, 10);
}

TEST(StatesOnFile, StayInMemoryWhereAllFit) {
  const Updates updates(4, 6);
  const PlacedStates placed = updates.place(9 * kState).value();
  EXPECT_TRUE(placed.on_file.empty()) << "six, and three for what is under way";
  EXPECT_EQ(placed.in_memory.size(), 6u);
}

TEST(StatesOnFile, AreThoseUpdatedFirst) {
  const Updates updates(4, 6);
  const PlacedStates placed = updates.place(5 * kState).value();
  EXPECT_THAT(placed.in_memory, ElementsAre(updates.states[5], updates.states[4]));
  EXPECT_EQ(placed.on_file.size(), 4u);
}

TEST(StatesOnFile, AreNotThoseThatTheLinkTakesLongerToStart) {
  Updates updates(4, 6);
  updates.graph.tensor(updates.states[0]).bytes = memory::kBlockAlignment;
  updates.file.latency = 2e-5;  // 20 kB
  const PlacedStates placed = updates.place(4 * kState).value();
  EXPECT_EQ(placed.in_memory.front(), updates.states[0]);
}

TEST(StatesOnFile, AreReadAsEarlyAsThereIsRoom) {
  const Updates updates(10, 6);
  const PlacedStates two = updates.place(2 * kState).value();
  ASSERT_EQ(two.on_file.size(), 6u);
  std::vector<graph::OpIndex> begins;
  std::ranges::transform(two.on_file, std::back_inserter(begins), read_at);
  std::ranges::sort(begins);
  EXPECT_THAT(begins, ElementsAre(0, 0, 12, 13, 14, 15))
      << "two in the passes, then each where another has been written";
  const PlacedStates three = updates.place(3 * kState).value();
  begins.clear();
  std::ranges::transform(three.on_file, std::back_inserter(begins), read_at);
  std::ranges::sort(begins);
  EXPECT_THAT(begins, ElementsAre(0, 0, 0, 12, 13, 14));
}

// Whatever sizes states have: the limit is kept, each is there when it is used, and reads are in the order of updates.
TEST(StatesOnFile, KeepTheLimit) {
  int placed_on_file = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Updates updates(5, 12);
    for (std::size_t i = 0; i < updates.states.size(); ++i) {
      updates.graph.tensor(updates.states[i]).bytes = static_cast<Bytes>(1 + random_bits(seed, 0, i) % (4 * kState));
    }
    const Bytes capacity = kState * static_cast<Bytes>(6 + random_bits(seed, 1, 0) % 24);
    const Result<PlacedStates> placed = updates.place(capacity);
    if (!placed.ok()) continue;
    ReservationTable used(updates.graph.op_count(), capacity);
    const auto bytes = [&](graph::TensorId id) { return plan::stored_bytes(updates.graph.tensor(id)); };
    for (const graph::TensorId id : placed->in_memory) used.reserve({0, updates.graph.op_count()}, bytes(id));
    std::vector<std::pair<graph::OpIndex, graph::OpIndex>> reads;  // by use
    for (const StateOnFile& state : placed->on_file) {
      const HostVisit& visit = state.visits.at(0);
      used.reserve(visit.room, bytes(state.tensor));
      EXPECT_LE(visit.room.begin, visit.first_use);
      EXPECT_GT(visit.room.end, visit.last_use);
      reads.emplace_back(visit.first_use, visit.room.begin);
    }
    EXPECT_TRUE(used.fits({0, updates.graph.op_count()}, 0));
    std::ranges::sort(reads);
    EXPECT_TRUE(std::ranges::is_sorted(reads, {}, &std::pair<graph::OpIndex, graph::OpIndex>::second));
    placed_on_file += placed->on_file.empty() ? 0 : 1;
  }
  EXPECT_GT(placed_on_file, 50);
}

TEST(StatesOnFile, SayWhichOpFindsNoRoom) {
  const Updates updates(4, 6);
  const auto placed = updates.place(kState);
  ASSERT_FALSE(placed.ok()) << "one is written while the next is updated";
  EXPECT_THAT(placed.error().message, HasSubstr("state1.update needs 64.0 KiB of the optimizer's states"));
  EXPECT_THAT(placed.error().message, HasSubstr("--finer-slices"));
}

}  // namespace
}  // namespace sluice::planners
