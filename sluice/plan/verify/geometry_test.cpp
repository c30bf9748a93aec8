// The verifier's geometry is its own, agrees with the builder's, and rejects plans packed by any other.
#include "sluice/plan/verify/geometry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/plan_builder.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/plan/verify/verifier.hpp"
#include "sluice/testing/program_oracle.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/random_plan.hpp"
#include "sluice/testing/random/seeded_random.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::plan {
namespace {

using ::testing::IsEmpty;

void expect_the_same(const graph::Graph& graph, const Plan& plan) {
  const std::vector<verify::Extent> extents = verify::extents(graph, plan);
  const std::vector<Room> rooms = residency_rooms(graph, plan);
  ASSERT_EQ(extents.size(), rooms.size());
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    EXPECT_EQ(extents[i].bytes, rooms[i].bytes) << "residency " << i;
    EXPECT_EQ(extents[i].alignment, rooms[i].alignment) << "residency " << i;
  }
  for (const Block& block : plan.blocks) {
    std::vector<Bytes> ends = block_offsets(graph, plan, block);
    ends.pop_back();
    EXPECT_EQ(verify::member_distances(graph, plan, block), ends);
  }
  EXPECT_EQ(verify::step_beginnings(graph, plan), start_residencies(graph, plan));
}

TEST(Geometry, AgreesWithTheBuildersOnRandomPlans) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const graph::Graph graph = testing::random_graph(seed);
    expect_the_same(graph, testing::random_plan(seed, graph, testing::random_machine(seed)));
  }
}

TEST(Geometry, AgreesWithTheBuildersOnRandomBlocks) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    testing::SeededRandom random(seed);
    graph::Graph graph;
    graph.layers = {"all"};
    std::vector<graph::TensorId> all;
    for (int count = random.between(2, 8); count > 0; --count) {
      all.push_back(testing::add_tiny_tensor(graph, "t", graph::Role::kActivation, 4 * random.between<Bytes>(1, 2500)));
    }
    testing::add_tiny_op(graph, "make", {}, all);
    testing::add_tiny_op(graph, "use", all, {});
    const memory::Machine machine = testing::tiny_machine();
    PlanBuilder builder(graph, machine);
    std::vector<ResidencyIndex> members;
    for (const graph::TensorId id : all) members.push_back(builder.add_residency(id, memory::kFastTier, {0, 2}));
    builder.add_block(members);
    const Plan plan = builder.finish(std::vector<Bytes>{kGiB, kGiB}).value();
    EXPECT_THAT(verify_plan(graph, machine, plan), IsEmpty());
    expect_the_same(graph, plan);
  }
}

// Another idea of the room that a residency takes.
struct RoomRule {
  const char* name;
  Room (*room)(const graph::Tensor& tensor, memory::TierId tier, bool migrates);
  int least_rejected;  // of 200 plans
};

// Puts every tensor of a tier behind the one before it, with room by `rule`, for the whole step.
Plan packed_by(const RoomRule& rule, const graph::Graph& graph, Plan plan) {
  const std::vector<bool> migrating = migrating_residencies(plan);
  std::map<std::pair<memory::TierId, graph::TensorId>, Room> rooms;
  for (std::size_t i = 0; i < plan.residencies.size(); ++i) {
    const Residency& residency = plan.residencies[i];
    const Room wanted = rule.room(graph.tensor(residency.tensor), residency.tier, migrating[i]);
    Room& room = rooms.try_emplace({residency.tier, residency.tensor}, Room{0, 1}).first->second;
    room = {std::max(room.bytes, wanted.bytes), std::max(room.alignment, wanted.alignment)};
  }
  std::map<std::pair<memory::TierId, graph::TensorId>, Bytes> offsets;
  std::vector<Bytes> ends(plan.budgets.size(), 0);
  for (const auto& [key, room] : rooms) {
    Bytes& end = ends[as_index(key.first)];
    offsets[key] = align_up(end, room.alignment);
    end = offsets[key] + room.bytes;
  }
  for (Residency& residency : plan.residencies) residency.offset = offsets[{residency.tier, residency.tensor}];
  plan.stitches.clear();
  for (Bytes& end : ends) end = align_up(end, memory::kBlockAlignment);
  ends.front() += staging_bytes(plan);
  plan.budgets = plan.arena_bytes = ends;
  return plan;
}

class WrongRooms : public ::testing::TestWithParam<RoomRule> {};

// Were the verifier to share the rule of those who pack, it would accept every one of these plans. What it does accept
// must run right: in a plan without the tensors concerned, a wrong rule may change nothing.
TEST_P(WrongRooms, AreRejected) {
  const RoomRule right{"right", room_for, 0};
  int tried = 0, rejected = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const graph::Graph graph = testing::random_graph(seed);
    const memory::Machine machine = testing::random_machine(seed);
    const Plan plan = testing::random_plan(seed, graph, machine);
    // Some tensors leave a place and are brought back to it at one moment, which only other places allow.
    if (!verify_plan(graph, machine, packed_by(right, graph, plan)).empty()) continue;
    ++tried;
    const testing::PlanTrial trial = testing::try_plan(graph, machine, packed_by(GetParam(), graph, plan));
    ASSERT_FALSE(trial.race) << *trial.race;
    rejected += trial.accepted ? 0 : 1;
  }
  EXPECT_GT(tried, 190);
  EXPECT_GE(rejected, GetParam().least_rejected);
}

const RoomRule kRules[] = {
    {"SmallTensorsThatMoveSharePages",
     [](const graph::Tensor& tensor, memory::TierId tier, bool) { return room_for(tensor, tier, false); }, 100},
    {"SmallTensorsSharePagesInEveryTier",
     [](const graph::Tensor& tensor, memory::TierId, bool migrates) {
       return room_for(tensor, memory::kFastTier, migrates);
     },
     5},
    {"RoomsEndWithTheTensor",
     [](const graph::Tensor& tensor, memory::TierId, bool) {
       return Room{align_up(tensor.bytes, 64), 64};
     },
     190},
    {"RoomsAreRoundedDown",
     [](const graph::Tensor& tensor, memory::TierId tier, bool migrates) {
       const Room right = room_for(tensor, tier, migrates);
       return Room{std::max(right.alignment, align_down(tensor.bytes, right.alignment)), right.alignment};
     },
     20},
    {"OperandsNeedNoAlignment",
     [](const graph::Tensor& tensor, memory::TierId tier, bool migrates) {
       const Room right = room_for(tensor, tier, migrates);
       return right.alignment == 64 ? Room{align_up(tensor.bytes, 4), 4} : right;
     },
     15},
};

INSTANTIATE_TEST_SUITE_P(Rules, WrongRooms, ::testing::ValuesIn(kRules),
                         [](const auto& rule) { return std::string(rule.param.name); });

// A rule that is shared cannot be found wrong by checking: the verifier takes only the plan's data from plan/.
TEST(Geometry, IsSharedWithNobody) {
  int includes = 0;
  for (const auto& file : std::filesystem::directory_iterator(SLUICE_SOURCE_FOLDER "/sluice/plan/verify")) {
    if (file.path().stem().string().ends_with("_test")) continue;
    std::ifstream text(file.path());
    for (std::string line; std::getline(text, line);) {
      if (!line.starts_with("#include \"sluice/plan/")) continue;
      ++includes;
      EXPECT_TRUE(line.find("/plan/plan.hpp") != std::string::npos || line.find("/plan/verify/") != std::string::npos)
          << file.path() << ": " << line;
    }
  }
  EXPECT_GT(includes, 5);
}

}  // namespace
}  // namespace sluice::plan
