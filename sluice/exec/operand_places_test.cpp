#include "sluice/exec/operand_places.hpp"

#include <gtest/gtest.h>

#include "sluice/base/as_index.hpp"

namespace sluice::exec {
namespace {

constexpr program::Location kHere{0, 0};
constexpr program::Location kThere{0, 8192};
constexpr program::Location kSlowPlace{1, 0};

graph::Graph four_uses() {
  graph::Graph graph;
  for (const Bytes elements : {1024, 0}) {
    graph::Tensor tensor;
    tensor.name = "t" + std::to_string(elements);
    tensor.shape = {elements};
    graph.add_tensor(tensor);
  }
  for (int i = 0; i < 4; ++i) {
    graph::Op op;
    op.name = "op" + std::to_string(i);
    op.inputs = {1, 0};
    op.outputs = {0};
    graph.add_op(op);
  }
  return graph;
}

program::Program program_at(const std::vector<program::Location>& places,
                            const std::vector<program::TransferInstruction>& transfers) {
  program::Program program;
  for (std::size_t i = 0; i < places.size(); ++i) {
    program.compute.push_back({as_id<graph::OpIndex>(i), {kHere, places[i], places[i]}, {}});
  }
  program.transfers = transfers;
  return program;
}

std::vector<std::size_t> stays(const program::Program& program) {
  std::vector<std::size_t> found;
  for (const OpPlaces& op : find_operand_places(four_uses(), program).ops) {
    EXPECT_EQ(op.operands.size(), 1U) << "distinct, and without empty tensors";
    EXPECT_TRUE(op.operands[0].read && op.operands[0].written);
    EXPECT_EQ(op.watched.size(), 1U);
    EXPECT_EQ(op.watched[0].operand, 1U);
    EXPECT_EQ(op.watched[0].bytes, 4096);
    found.push_back(op.watched[0].stay);
  }
  return found;
}

TEST(OperandPlaces, ATensorThatDoesNotMoveStays) {
  EXPECT_EQ(stays(program_at({kHere, kHere, kHere, kHere}, {})), (std::vector<std::size_t>{0, 0, 0, 0}));
}

TEST(OperandPlaces, AnotherPlaceIsAnotherStay) {
  EXPECT_EQ(stays(program_at({kHere, kHere, kThere, kSlowPlace}, {})), (std::vector<std::size_t>{0, 0, 1, 2}));
}

TEST(OperandPlaces, ComingBackIsAnotherStay) {
  const program::Program program =
      program_at({kHere, kHere, kHere, kHere}, {{.tensor = 0, .from = kHere, .to = kSlowPlace, .after_op = 1},
                                                {.tensor = 0, .from = kSlowPlace, .to = kHere, .after_op = 1},
                                                {.tensor = 1, .from = kSlowPlace, .to = kHere, .after_op = 2}});
  EXPECT_EQ(stays(program), (std::vector<std::size_t>{0, 0, 1, 1}));
}

TEST(OperandPlaces, ACopyLeftBehindKeepsTheStay) {
  const program::Program program =
      program_at({kHere, kHere, kHere, kHere}, {{.tensor = 0, .from = kHere, .to = kSlowPlace, .after_op = 0}});
  EXPECT_EQ(stays(program), (std::vector<std::size_t>{0, 0, 0, 0}));
}

// Small tensors at the offsets given; op 0 reads all but the last, which it writes.
OpPlaces places_of_small(const std::vector<Bytes>& offsets, memory::TierId tier) {
  graph::Graph graph;
  graph::Op op;
  op.name = "op";
  program::Program program;
  program.compute.resize(1);
  for (const Bytes offset : offsets) {
    graph::Tensor tensor;
    tensor.name = "t" + std::to_string(offset);
    tensor.shape = {25};
    (program.compute[0].operands.size() + 1 < offsets.size() ? op.inputs : op.outputs)
        .push_back(graph.add_tensor(tensor));
    program.compute[0].operands.push_back({tier, offset});
  }
  graph.add_op(op);
  return find_operand_places(graph, program).ops[0];
}

TEST(OperandPlaces, SmallTensorsMaySharePagesOfTheFastTier) {
  const OpPlaces places = places_of_small({64, 1024, 4096 - 64}, memory::kFastTier);
  ASSERT_EQ(places.watched.size(), 2U);
  EXPECT_EQ(places.watched[0].sharers, 3);
  EXPECT_EQ(places.watched[0].before, 64);
  EXPECT_EQ(places.watched[1].sharers, 1);
  EXPECT_EQ(places.watched[1].operand, 2U);
  EXPECT_EQ(places.watched[1].before, 4096 - 64 - 4096);
  EXPECT_EQ(places.operands[0].watched, (std::vector<std::size_t>{0}));
  EXPECT_EQ(places.operands[2].watched, (std::vector<std::size_t>{0, 1})) << "across the border of two pages";
  EXPECT_TRUE(places.operands[2].written && !places.operands[2].read);
}

TEST(OperandPlaces, SmallTensorsHaveTheirOwnPagesElsewhere) {
  const OpPlaces places = places_of_small({0, 4096}, 1);
  ASSERT_EQ(places.watched.size(), 2U);
  EXPECT_NE(places.watched[0].stay, places.watched[1].stay);
  EXPECT_EQ(places.watched[0].sharers, 1);
}

TEST(OperandPlaces, ALargeTensorSharesItsBorderPagesOnly) {
  graph::Graph graph;
  graph::Tensor tensor;
  tensor.name = "large";
  tensor.shape = {4096};  // 16 KiB
  graph::Op op;
  op.name = "op";
  op.outputs = {graph.add_tensor(tensor)};
  graph.add_op(op);
  program::Program program;
  program.compute = {{0, {{1, 64}}, {}}};
  const OpPlaces places = find_operand_places(graph, program).ops[0];
  ASSERT_EQ(places.watched.size(), 3U);
  EXPECT_EQ(places.watched[0].before, 64 - 4096);
  EXPECT_EQ(places.watched[0].bytes, 3 * 4096);
  EXPECT_EQ(places.watched[1].before, 64);
  EXPECT_EQ(places.watched[2].before, 64 - 4 * 4096);
  EXPECT_EQ(places.operands[0].watched, (std::vector<std::size_t>{0, 1, 2}));
}

TEST(OperandPlaces, AMemberOfABlockArrivesWithIt) {
  program::TransferInstruction block{.tensor = 1, .from = {1, 4096}, .to = {0, 4096}, .after_op = 1};
  block.others = {{0, 4096}};  // at 8192, where tensor 0 was
  const program::Program program = program_at({kThere, kThere, kThere, kThere}, {block});
  EXPECT_EQ(stays(program), (std::vector<std::size_t>{0, 0, 1, 1}));
}

}  // namespace
}  // namespace sluice::exec
