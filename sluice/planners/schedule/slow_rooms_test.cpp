#include "sluice/planners/schedule/slow_rooms.hpp"

#include <gtest/gtest.h>

#include "sluice/memory/presets.hpp"

namespace sluice::planners {
namespace {

constexpr graph::OpIndex kOps = 10;
constexpr Bytes kTensor = kMiB;
const std::vector<SlowTier> kTiers{{.id = 1, .outward = 0, .inward = 1}, {.id = 2, .outward = 2, .inward = 3}};

SlowRooms rooms_for(int tensors) {
  return SlowRooms(kTiers, kOps, std::vector<Bytes>{0, tensors * kTensor, 3 * kTensor});
}

memory::TierId place(SlowRooms& rooms, Interval<graph::OpIndex> ops) {
  return rooms.place(std::span(&ops, 1), kTensor).id;
}

TEST(SlowRooms, TheNearestIsFilledFirstAndThenTheFarthest) {
  SlowRooms rooms = rooms_for(2);
  EXPECT_EQ(place(rooms, {0, 6}), 1);
  EXPECT_EQ(place(rooms, {5, 9}), 1);
  EXPECT_EQ(place(rooms, {4, 6}), 2) << "at op 5 the nearest is full";
  EXPECT_EQ(place(rooms, {6, 10}), 1) << "the first has left";
}

TEST(SlowRooms, TheFarthestTakesWhatFitsNowhere) {
  SlowRooms rooms = rooms_for(0);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(place(rooms, {0, kOps}), 2) << "more than it has: packing will say so";
}

TEST(SlowRooms, RoomIsNeededOverAllRanges) {
  SlowRooms rooms = rooms_for(1);
  EXPECT_EQ(place(rooms, {7, 8}), 1);
  const std::vector<Interval<graph::OpIndex>> ends{{0, 2}, {6, 10}};
  EXPECT_EQ(rooms.place(ends, kTensor).id, 2);
  EXPECT_EQ(place(rooms, {0, 2}), 1) << "what went elsewhere has taken nothing here";
}

TEST(SlowRooms, FirstComePersistentOnesFirst) {
  std::vector<MovingUnit> units(3);
  for (MovingUnit& unit : units) unit.moved_bytes = kTensor;
  units[0].range = {4, 8};
  units[1].range = {0, 6};
  units[2].range = {0, kOps};
  units[2].persistent = true;
  place_first_come(units, rooms_for(2));
  EXPECT_EQ(units[2].slow.id, 1);
  EXPECT_EQ(units[1].slow.id, 1);
  EXPECT_EQ(units[0].slow.id, 2);
  EXPECT_EQ(units[0].slow.inward, 3);
  place_first_come(units, rooms_for(1));
  EXPECT_EQ(units[2].slow.id, 1);
  EXPECT_EQ(units[1].slow.id, 2) << "made by the first op, but not there before it";
}

// Two units that are out over the same ops, room for one in the near tier, whose lanes are free; those of the far one
// are dear at op 8.
class PlacedByPrice : public ::testing::Test {
 protected:
  PlacedByPrice()
      : machine_(memory::make_machine({.threads = 1, .slow = {{"pcie3"}, {"pmbd"}}, .link_bandwidth = 1e9}).value()) {
    for (MovingUnit& unit : units_) unit.moved_bytes = kTensor;
  }

  void place(int room, double near_price, double far_price) {
    const profile::CostModel costs(graph_, profile_, machine_);
    const auto price = [&](memory::LinkId link, graph::OpIndex op) {
      const bool near = machine_.link(link).from == 1 || machine_.link(link).to == 1;
      return near ? near_price : op == 8 ? far_price : 0;
    };
    place_by_price(units_, demands_, costs, price, rooms_for(room));
  }

  memory::Machine machine_;
  graph::Graph graph_;
  profile::Profile profile_;
  std::vector<MovingUnit> units_ = std::vector<MovingUnit>(2);
  std::vector<SlowDemand> demands_{{.ranges = {{2, 6}}, .evicted_after = {1}, .prefetched_for = {6}},
                                   {.ranges = {{2, 8}}, .evicted_after = {1}, .prefetched_for = {8}}};
};

TEST_F(PlacedByPrice, WhoLosesMostElsewhereComesFirst) {
  place(1, 0, 1);
  EXPECT_EQ(units_[0].slow.id, 2) << "first come, it would be in the near tier";
  EXPECT_EQ(units_[1].slow.id, 1);
}

TEST_F(PlacedByPrice, NobodyGoesWhereItIsDearer) {
  place(2, 0.1, 0.05);
  EXPECT_EQ(units_[0].slow.id, 2);
  EXPECT_EQ(units_[1].slow.id, 2) << "a nearer tier is not better for being near";
}

TEST_F(PlacedByPrice, WhereThereIsNoRoomTheNextBestIsTaken) {
  place(0, 0, 1);
  EXPECT_EQ(units_[1].slow.id, 2);
}

}  // namespace
}  // namespace sluice::planners
