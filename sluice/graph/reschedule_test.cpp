#include "sluice/graph/reschedule.hpp"

#include <gtest/gtest.h>

namespace sluice::graph {
namespace {

using Slots = std::vector<OpIndex>;

TEST(Reschedule, KnowsTheGraphsOwnOrder) {
  EXPECT_TRUE(is_own_order(Slots{0, 1, 2}, 3));
  EXPECT_TRUE(is_own_order(Slots{}, 0));
  EXPECT_FALSE(is_own_order(Slots{0, 2, 1}, 3)) << "another order";
  EXPECT_FALSE(is_own_order(Slots{0, 1, 1}, 3)) << "one op again, another left out";
  EXPECT_FALSE(is_own_order(Slots{0, 2}, 3)) << "one left out";
}

TEST(Reschedule, RefusesAnOpThatThereIsNot) {
  Graph graph;
  graph.add_op({.name = "only", .kind = OpKind::kUnary});
  EXPECT_TRUE(reschedule(graph, Slots{0}).ok());
  for (const OpIndex wrong : {-1, 1}) {
    const auto made = reschedule(graph, Slots{0, wrong});
    ASSERT_FALSE(made.ok()) << wrong;
    EXPECT_EQ(made.error().code, ErrorCode::kBadInput);
  }
}

}  // namespace
}  // namespace sluice::graph
