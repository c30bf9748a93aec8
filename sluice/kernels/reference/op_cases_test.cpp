// The cases themselves: that between them they hold every kind of op, as the table of kinds describes it.
#include "sluice/testing/op_cases/op_cases.hpp"

#include <gtest/gtest.h>

#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/builder/validate.hpp"

namespace sluice::kernels {
namespace {

TEST(OpCases, FollowTheTableOfOps) {
  for (const testing::OpCase& tested : testing::op_cases()) {
    SCOPED_TRACE(tested.name);
    for (const graph::Op& op : tested.graph.ops()) {
      const Status status = graph::check_op_shapes(tested.graph, op);
      EXPECT_TRUE(status.ok()) << status.error().message;
    }
  }
}

TEST(OpCases, HoldEveryKindAndFunction) {
  std::set<graph::OpKind> kinds;
  std::set<graph::UnaryFunction> functions;
  for (const testing::OpCase& tested : testing::op_cases()) {
    for (const graph::Op& op : tested.graph.ops()) {
      kinds.insert(op.kind);
      if (op.kind == graph::OpKind::kUnary) functions.insert(op.as<graph::UnaryAttributes>().function);
    }
  }
  for (int kind = 0; kind <= static_cast<int>(graph::kLastOpKind); ++kind) {
    if (static_cast<graph::OpKind>(kind) == graph::OpKind::kInput ||
        static_cast<graph::OpKind>(kind) == graph::OpKind::kReorder)
      continue;
    EXPECT_TRUE(kinds.contains(static_cast<graph::OpKind>(kind))) << to_string(static_cast<graph::OpKind>(kind));
  }
  EXPECT_EQ(functions.size(), as_index(graph::kLastUnaryFunction) + 1);
}

TEST(OpCases, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const testing::OpCase& tested : testing::op_cases())
    EXPECT_TRUE(names.insert(testing::test_name(tested)).second) << tested.name;
}

}  // namespace
}  // namespace sluice::kernels
