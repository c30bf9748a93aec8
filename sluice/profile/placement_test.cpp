#include "sluice/profile/placement.hpp"

#include <gtest/gtest.h>

namespace sluice::profile {
namespace {

constexpr memory::TierId kSlowTier = 1;

// An op of `inputs` inputs, then `outputs` outputs; the first output is the last input when `in_place`.
graph::Op op_of(int inputs, int outputs, bool in_place = false) {
  graph::Op op;
  for (int i = 0; i < inputs; ++i) op.inputs.push_back(i);
  const int first = in_place ? inputs - 1 : inputs;
  for (int i = 0; i < outputs; ++i) op.outputs.push_back(first + i);
  return op;
}

ConfigurationTime taking(OperandSet slow, Seconds seconds) {
  return {.slow = slow, .timing = {.median = seconds, .min = seconds, .max = seconds, .samples = 3}};
}

TEST(Placement, AllConfigurationsOfFewOperandsAreMeasured) {
  EXPECT_EQ(configurations_to_measure(op_of(1, 1)), (std::vector<OperandSet>{0, 1, 2, 3}));
  EXPECT_EQ(configurations_to_measure(op_of(2, 2)).size(), 16u);
  EXPECT_EQ(configurations_to_measure(op_of(3, 2, true)).size(), 16u) << "an operand in place counts once";
}

TEST(Placement, OfManyOperandsEachAloneAllInputsAllOutputsAndAll) {
  EXPECT_EQ(configurations_to_measure(op_of(3, 2)),
            (std::vector<OperandSet>{0, 1, 2, 4, 8, 16, 0b00111, 0b11000, 0b11111}));
  EXPECT_EQ(configurations_to_measure(op_of(5, 1)),
            (std::vector<OperandSet>{0, 1, 2, 4, 8, 16, 32, 0b011111, 0b111111}));
  EXPECT_EQ(configurations_to_measure(op_of(63, 1)).size(), 1u + 64u + 2u);
  EXPECT_TRUE(configurations_to_measure(op_of(64, 1)).empty());
}

TEST(Placement, TiersOfOperandsAndBack) {
  const graph::Op op = op_of(2, 2, true);  // operands 0, 1 and 1, 2
  EXPECT_EQ(operand_tiers(op, 0b010, kSlowTier), (std::vector<memory::TierId>{0, kSlowTier, kSlowTier, 0}));
  EXPECT_EQ(operand_tiers(op, 0b101, kSlowTier), (std::vector<memory::TierId>{kSlowTier, 0, 0, kSlowTier}));
  for (const OperandSet set : configurations_to_measure(op)) {
    EXPECT_EQ(operands_in(op, operand_tiers(op, set, kSlowTier), kSlowTier), set);
    EXPECT_EQ(operands_in(op, operand_tiers(op, set, kSlowTier), kSlowTier + 1), 0u);
  }
  EXPECT_EQ(read_operands(op), 0b011u);
  EXPECT_EQ(written_operands(op), 0b110u);
}

TEST(Placement, MeasuredConfigurationsAreTaken) {
  const OpConfigurations measured{taking(0, 10), taking(1, 11), taking(2, 9), taking(3, 14)};
  EXPECT_DOUBLE_EQ(*extra_seconds(measured, 0), 0);
  EXPECT_DOUBLE_EQ(*extra_seconds(measured, 1), 1);
  EXPECT_DOUBLE_EQ(*extra_seconds(measured, 2), -1);
  EXPECT_DOUBLE_EQ(*extra_seconds(measured, 3), 4);
}

TEST(Placement, NothingCountsMoreThanTheSameWithMoreInSlowMemory) {
  const OpConfigurations measured{taking(0, 10), taking(1, 90), taking(2, 11), taking(3, 12)};
  EXPECT_DOUBLE_EQ(*extra_seconds(measured, 1), 2) << "its measurement was disturbed";
  EXPECT_DOUBLE_EQ(*extra_seconds(measured, 2), 1);
}

TEST(Placement, OthersAreSumsWithinWhatTheirPartsAndWholesTook) {
  OpConfigurations measured{taking(0, 10), taking(1, 11), taking(2, 12), taking(4, 13), taking(7, 18)};
  EXPECT_DOUBLE_EQ(*extra_seconds(measured, 3), 3) << "1 + 2";
  measured.back() = taking(7, 12.5);
  EXPECT_DOUBLE_EQ(*extra_seconds(measured, 3), 2.5) << "not more than all together";
  measured.push_back(taking(6, 20));
  measured[1] = taking(1, 8);
  EXPECT_DOUBLE_EQ(*extra_seconds(measured, 3), 2) << "not less than one of them alone";
}

TEST(Placement, NothingIsMadeUpWhereAnOperandWasNotMeasured) {
  const OpConfigurations measured{taking(0, 10), taking(1, 11), taking(7, 18)};
  EXPECT_EQ(extra_seconds(measured, 3), std::nullopt);
  EXPECT_EQ(extra_seconds({}, 1), std::nullopt);
}

}  // namespace
}  // namespace sluice::profile
