#include "sluice/graph/ops/sparse_matrix.hpp"

#include <gtest/gtest.h>

namespace sluice::graph {
namespace {

// [1 0 2]
// [0 0 0]
// [3 4 0]
SparseMatrix three_by_three() {
  SparseMatrix matrix;
  matrix.columns = 3;
  matrix.add_term(0, 1);
  matrix.add_term(2, 2);
  matrix.end_row();
  matrix.end_row();
  matrix.add_term(0, 3);
  matrix.add_term(1, 4);
  matrix.end_row();
  return matrix;
}

TEST(SparseMatrix, TransposedHasTheRowsInOrder) {
  const SparseMatrix turned = transposed(three_by_three());
  EXPECT_EQ(turned.columns, 3);
  EXPECT_EQ(turned.row_starts, (std::vector<std::int64_t>{0, 2, 3, 4}));
  EXPECT_EQ(turned.column_of, (std::vector<std::int64_t>{0, 2, 2, 0}));
  EXPECT_EQ(turned.values, (std::vector<float>{1, 3, 4, 2}));
  EXPECT_EQ(transposed(turned), three_by_three());
}

TEST(SparseMatrix, IsSoundOnlyWithinItsBounds) {
  EXPECT_TRUE(three_by_three().is_sound());
  SparseMatrix beyond = three_by_three();
  beyond.column_of[1] = 3;
  EXPECT_FALSE(beyond.is_sound());
  SparseMatrix cut = three_by_three();
  cut.values.pop_back();
  EXPECT_FALSE(cut.is_sound());
  SparseMatrix turned_back = three_by_three();
  turned_back.row_starts[1] = 4;
  EXPECT_FALSE(turned_back.is_sound());
}

TEST(SharedMatrix, IsEqualByItsNumbers) {
  const SharedMatrix one(three_by_three()), same(three_by_three());
  SparseMatrix changed = three_by_three();
  changed.values[0] = 5;
  const SharedMatrix other(std::move(changed)), none;
  EXPECT_EQ(one, same);
  EXPECT_EQ(one.digest(), same.digest());
  EXPECT_NE(one, other);
  EXPECT_NE(one.digest(), other.digest());
  EXPECT_NE(one, none);
  EXPECT_EQ(none.digest(), "");
}

}  // namespace
}  // namespace sluice::graph
