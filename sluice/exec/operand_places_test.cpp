#include "sluice/exec/operand_places.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr Location kHere{0, 0};
constexpr Location kThere{0, 8192};
constexpr Location kSlow{1, 0};

Graph four_uses() {
  Graph graph;
  for (const Bytes elements : {1024, 0}) {
    Tensor tensor;
    tensor.name = "t" + std::to_string(elements);
    tensor.shape = {elements};
    graph.add_tensor(tensor);
  }
  for (int i = 0; i < 4; ++i) {
    Op op;
    op.name = "op" + std::to_string(i);
    op.inputs = {1, 0};
    op.outputs = {0};
    graph.add_op(op);
  }
  return graph;
}

Program program_at(const std::vector<Location>& places, const std::vector<TransferInstruction>& transfers) {
  Program program;
  for (std::size_t i = 0; i < places.size(); ++i) {
    program.compute.push_back({static_cast<OpIndex>(i), {kHere, places[i], places[i]}, {}});
  }
  program.transfers = transfers;
  return program;
}

std::vector<std::size_t> stays(const Program& program) {
  std::vector<std::size_t> found;
  for (const auto& operands : find_operand_places(four_uses(), program).ops) {
    EXPECT_EQ(operands.size(), 1U) << "distinct, and without empty tensors";
    EXPECT_EQ(operands[0].operand, 1U);
    found.push_back(operands[0].stay);
  }
  return found;
}

TEST(OperandPlaces, ATensorThatDoesNotMoveStays) {
  EXPECT_EQ(stays(program_at({kHere, kHere, kHere, kHere}, {})), (std::vector<std::size_t>{0, 0, 0, 0}));
}

TEST(OperandPlaces, AnotherPlaceIsAnotherStay) {
  EXPECT_EQ(stays(program_at({kHere, kHere, kThere, kSlow}, {})), (std::vector<std::size_t>{0, 0, 1, 2}));
}

TEST(OperandPlaces, ComingBackIsAnotherStay) {
  const Program program =
      program_at({kHere, kHere, kHere, kHere}, {{.tensor = 0, .from = kHere, .to = kSlow, .after_op = 1},
                                                {.tensor = 0, .from = kSlow, .to = kHere, .after_op = 1},
                                                {.tensor = 1, .from = kSlow, .to = kHere, .after_op = 2}});
  EXPECT_EQ(stays(program), (std::vector<std::size_t>{0, 0, 1, 1}));
}

TEST(OperandPlaces, ACopyLeftBehindKeepsTheStay) {
  const Program program =
      program_at({kHere, kHere, kHere, kHere}, {{.tensor = 0, .from = kHere, .to = kSlow, .after_op = 0}});
  EXPECT_EQ(stays(program), (std::vector<std::size_t>{0, 0, 0, 0}));
}

}  // namespace
}  // namespace sluice
