#include "sluice/exec/run_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/testing/stored_tensors.hpp"

namespace sluice::exec {
namespace {

using program::Location;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr Bytes kBlock = memory::kBlockAlignment;
constexpr memory::TierId kFast = 0, kSlow = 1;

TensorMove move(Bytes from, Bytes to, Bytes bytes = 1) { return {{kFast, from}, {kFast, to}, bytes}; }

TEST(OrderMoves, NothingIsOverwrittenBeforeItIsRead) {
  EXPECT_THAT(order_moves(std::vector{move(1, 0), move(2, 1), move(3, 2)}), ElementsAre(0, 1, 2));
  EXPECT_THAT(order_moves(std::vector{move(0, 1), move(1, 2), move(2, 3)}), ElementsAre(2, 1, 0));
  EXPECT_THAT(order_moves(std::vector{move(0, 1, 4)}), ElementsAre(0)) << "over itself";
  EXPECT_THAT(order_moves(std::vector{move(0, 4, 4), move(4, 1, 3), move(8, 0)}), UnorderedElementsAre(1, 2))
      << "two that want each other's place, and one";
}

TEST(OrderMoves, OneOfEachCircleIsLeftOut) {
  EXPECT_THAT(order_moves(std::vector{move(0, 1), move(1, 0)}), ElementsAre(1));
  EXPECT_THAT(order_moves(std::vector{move(0, 1), move(1, 2), move(2, 0), move(3, 3)}), UnorderedElementsAre(1, 2, 3));
}

// A graph of one shape of tensors by name, and a program that only says where they are.
struct Scene {
  explicit Scene(std::vector<std::pair<std::string, Bytes>> tensors) {
    graph::Graph graph;
    for (const auto& [name, bytes] : tensors) {
      graph.add_tensor(testing::tensor_of(name, {bytes / 4}, graph::Role::kParameter));
    }
    compiled = std::make_shared<testing::ReversingGraph>(std::move(graph));
  }

  Scene& at(std::vector<Location> places) {
    program.step_start = std::move(places);
    program.arena_bytes.assign(2, 0);
    for (std::size_t i = 0; i < program.step_start.size(); ++i) {
      Bytes& arena = program.arena_bytes[as_index(program.step_start[i].tier)];
      arena = std::max(arena, align_up(program.step_start[i].offset + bytes(i), kBlock));
    }
    return *this;
  }
  Bytes bytes(std::size_t id) const { return compiled->graph().tensor(as_id<graph::TensorId>(id)).bytes; }
  NextProgram next() const { return {compiled->graph(), program, budgets}; }

  std::shared_ptr<kernels::CompiledGraph> compiled;
  program::Program program;
  std::vector<Bytes> budgets{64 * kBlock, 64 * kBlock};
};

std::vector<std::byte> pattern(std::size_t id, Bytes bytes) {
  std::vector<std::byte> values(as_index(bytes));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(31 * id + i % 251);
  return values;
}

void write_all(RunMemory& memory, const Scene& scene) {
  for (std::size_t id = 0; id < scene.program.step_start.size(); ++id) {
    ASSERT_TRUE(memory.write_tensor(as_id<graph::TensorId>(id), pattern(id, scene.bytes(id))).ok());
  }
}

std::vector<std::byte> read(RunMemory& memory, graph::TensorId id, Bytes bytes) {
  std::vector<std::byte> values(as_index(bytes));
  EXPECT_TRUE(memory.read_tensor(id, values).ok());
  return values;
}

class RunMemoryTest : public ::testing::TestWithParam<std::string> {
 protected:
  memory::Machine machine_ =
      memory::make_machine({.threads = 1, .slow = {{GetParam()}}, .spill_path = ::testing::TempDir()}).value();
  RunMemory memory_{machine_};
};

TEST_P(RunMemoryTest, TensorsGoToWhereTheNextProgramHasThem) {
  Scene scene(
      {{"stays", 3 * kBlock}, {"up", 2 * kBlock + 8}, {"down", kBlock + 4}, {"odd", 20}, {"along", 2 * kBlock}});
  scene.at({{kFast, 0}, {kSlow, 4 * kBlock}, {kFast, 8 * kBlock}, {kSlow, 12}, {kFast, 20 * kBlock}});
  ASSERT_TRUE(memory_.change_to(scene.compiled, scene.next()).ok());
  EXPECT_THAT(memory_.held(), IsEmpty());
  write_all(memory_, scene);
  const std::byte* const arena = memory_.storages().base(kFast);
  scene.at({{kFast, 0}, {kFast, 8 * kBlock}, {kSlow, 2 * kBlock}, {kFast, 6 * kBlock + 12}, {kFast, 21 * kBlock}});
  EXPECT_THAT(memory_.not_carried(scene.next()), IsEmpty());
  ASSERT_TRUE(memory_.change_to(scene.compiled, scene.next()).ok());
  EXPECT_EQ(memory_.storages().base(kFast), arena);
  for (std::size_t id = 0; id < 5; ++id) {
    EXPECT_TRUE(memory_.holds(as_id<graph::TensorId>(id)));
    EXPECT_EQ(read(memory_, as_id<graph::TensorId>(id), scene.bytes(id)), pattern(id, scene.bytes(id))) << id;
  }
}

TEST_P(RunMemoryTest, AnyPlacesToAnyOthers) {
  std::vector<std::pair<std::string, Bytes>> tensors;
  std::mt19937 random(7);
  for (int i = 0; i < 12; ++i) tensors.emplace_back("t" + std::to_string(i), 4 + 4 * (random() % 3000));
  Scene scene(tensors);
  const auto anywhere = [&] {
    std::vector<std::size_t> order(tensors.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::shuffle(order, random);
    std::vector<Location> places(tensors.size());
    Bytes ends[] = {0, 0};
    for (const std::size_t id : order) {
      const auto tier = as_id<memory::TierId>(random() % 2);
      if (random() % 2 == 0) ends[tier] = align_up(ends[tier], kBlock);
      places[id] = {tier, ends[tier]};
      ends[tier] += tensors[id].second;
    }
    return places;
  };
  scene.at(anywhere());
  ASSERT_TRUE(memory_.change_to(scene.compiled, scene.next()).ok());
  write_all(memory_, scene);
  for (int turn = 0; turn < 60; ++turn) {
    scene.at(anywhere());
    const std::vector<graph::TensorId> left = memory_.not_carried(scene.next());
    ASSERT_TRUE(memory_.change_to(scene.compiled, scene.next()).ok());
    for (std::size_t id = 0; id < tensors.size(); ++id) {
      const auto tensor = as_id<graph::TensorId>(id);
      const bool carried = !std::ranges::binary_search(left, tensor);
      EXPECT_EQ(memory_.holds(tensor), carried);
      if (carried) {
        EXPECT_EQ(read(memory_, tensor, scene.bytes(id)), pattern(id, scene.bytes(id))) << turn << " " << id;
      }
      ASSERT_TRUE(memory_.write_tensor(tensor, pattern(id, scene.bytes(id))).ok());
    }
  }
}

TEST_P(RunMemoryTest, WhatTheNextGraphHasInAnotherFormOrNotAtAllIsNotCarried) {
  Scene first({{"same", kBlock}, {"wider", kBlock}, {"gone", kBlock}});
  first.at({{kFast, 0}, {kFast, kBlock}, {kFast, 2 * kBlock}});
  ASSERT_TRUE(memory_.change_to(first.compiled, first.next()).ok());
  write_all(memory_, first);
  Scene second({{"new", kBlock}, {"wider", 2 * kBlock}, {"same", kBlock}});
  second.at({{kFast, 8 * kBlock}, {kFast, kBlock}, {kFast, 0}});
  EXPECT_THAT(memory_.not_carried(second.next()), ElementsAre(1, 2));
  ASSERT_TRUE(memory_.change_to(second.compiled, second.next()).ok());
  EXPECT_THAT(memory_.held(), ElementsAre(2));
  EXPECT_EQ(read(memory_, 2, kBlock), pattern(0, kBlock));
}

TEST_P(RunMemoryTest, AProgramThatIsRefusedLeavesEverything) {
  Scene scene({{"w", kBlock}});
  scene.at({{kFast, 0}});
  ASSERT_TRUE(memory_.change_to(scene.compiled, scene.next()).ok());
  write_all(memory_, scene);
  Scene larger({{"w", kBlock}});
  larger.at({{kFast, 64 * kBlock}});
  EXPECT_EQ(memory_.change_to(larger.compiled, larger.next()).error().code, ErrorCode::kInfeasible);
  EXPECT_EQ(read(memory_, 0, kBlock), pattern(0, kBlock));
  memory_.spoil({ErrorCode::kIo, "a step failed"});
  EXPECT_EQ(memory_.change_to(scene.compiled, scene.next()).error().message, "a step failed");
}

INSTANTIATE_TEST_SUITE_P(SlowTiers, RunMemoryTest, ::testing::Values("file", "optane"));

}  // namespace
}  // namespace sluice::exec
