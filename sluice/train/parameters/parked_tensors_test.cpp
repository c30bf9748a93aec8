#include "sluice/train/parameters/parked_tensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/testing/stored_tensors.hpp"

namespace sluice::train {
namespace {

using ::testing::HasSubstr;
using testing::MapExecutor;
using testing::ReversingGraph;
using testing::tensor_of;

void fill(ParameterAccess& access, graph::TensorId id, float value) {
  std::ranges::fill(access.stage(id), value);
  EXPECT_TRUE(access.write(id).ok());
}

std::vector<float> values(ParameterAccess& access, graph::TensorId id) {
  const auto read = access.read(id);
  EXPECT_TRUE(read.ok());
  return {read->begin(), read->end()};
}

graph::Tensor rows_of(const std::string& whole, const Interval<std::int64_t>& rows) {
  graph::Tensor tensor = testing::tensor_of(whole, {rows.length(), 3}, graph::Role::kParameter);
  graph::cut_rows(tensor, rows);
  return tensor;
}

// A graph that has in slices what the next has whole, with fewer rows and beside a parameter of its own.
TEST(ParkedTensorsTest, OfGraphsThatTakeTurns) {
  graph::Graph sliced;
  sliced.add_tensor(rows_of("table", {0, 2}));
  sliced.add_tensor(rows_of("table", {2, 3}));
  sliced.add_tensor(testing::tensor_of("table[0:1]", {1, 3}, graph::Role::kParameter));  // whole: the model calls it so
  testing::ReversingGraph first(sliced);
  testing::MapExecutor first_executor;
  ParameterAccess first_access(first, first_executor);
  fill(first_access, 0, 1);
  fill(first_access, 1, 2);
  fill(first_access, 2, 3);
  auto parked = ParkedTensors::park(first_access, ::testing::TempDir());
  ASSERT_TRUE(parked.ok());
  const std::string before = *parked->hash();

  graph::Graph shorter;
  shorter.add_tensor(testing::tensor_of("table", {1, 3}, graph::Role::kParameter));
  shorter.add_tensor(testing::tensor_of("own", {2}, graph::Role::kParameter));
  testing::ReversingGraph second(shorter);
  testing::MapExecutor second_executor;
  ParameterAccess second_access(second, second_executor);
  EXPECT_FALSE(parked->holds_all_of(shorter, persistent_tensors(shorter)));
  EXPECT_FALSE(parked->restore(second_access).ok());
  ASSERT_TRUE(parked->restore_or_initialise(second_access, persistent_tensors(shorter), 1, nullptr).ok());
  EXPECT_EQ(values(second_access, 0), std::vector<float>(3, 1));
  fill(second_access, 0, 5);
  fill(second_access, 1, 6);
  ASSERT_TRUE(parked->update(second_access).ok());
  EXPECT_TRUE(parked->holds_all_of(shorter, persistent_tensors(shorter)) &&
              parked->holds_all_of(sliced, persistent_tensors(sliced)));
  EXPECT_NE(*parked->hash(), before);

  ASSERT_TRUE(parked->restore(first_access).ok());
  EXPECT_EQ(values(first_access, 0), (std::vector<float>{5, 5, 5, 1, 1, 1}));
  EXPECT_EQ(values(first_access, 1), std::vector<float>(3, 2));
  EXPECT_EQ(values(first_access, 2), std::vector<float>(3, 3));

  graph::Graph wider;
  wider.add_tensor(testing::tensor_of("table", {3, 4}, graph::Role::kParameter));
  testing::ReversingGraph third(wider);
  ParameterAccess third_access(third, second_executor);
  const Status status = parked->restore_or_initialise(third_access, persistent_tensors(wider), 1, nullptr);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("table has rows of 4 elements in this graph and of 3"));
}

}  // namespace
}  // namespace sluice::train
