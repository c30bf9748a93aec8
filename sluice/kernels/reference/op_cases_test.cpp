// The cases themselves: that between them they hold every kind of op, as the table of kinds describes it.
#include "sluice/testing/op_cases/op_cases.hpp"

#include <gtest/gtest.h>

#include <set>

#include "sluice/graph/builder/validate.hpp"

namespace sluice {
namespace {

TEST(OpCases, FollowTheTableOfOps) {
  for (const OpCase& tested : op_cases()) {
    SCOPED_TRACE(tested.name);
    for (const Op& op : tested.graph.ops()) {
      const Status status = check_op_shapes(tested.graph, op);
      EXPECT_TRUE(status.ok()) << status.error().message;
    }
  }
}

TEST(OpCases, HoldEveryKindAndFunction) {
  std::set<OpKind> kinds;
  std::set<UnaryFunction> functions;
  for (const OpCase& tested : op_cases()) {
    for (const Op& op : tested.graph.ops()) {
      kinds.insert(op.kind);
      if (op.kind == OpKind::kUnary) functions.insert(op.attributes.unary);
    }
  }
  for (int kind = 0; kind <= static_cast<int>(kLastOpKind); ++kind) {
    if (static_cast<OpKind>(kind) == OpKind::kInput || static_cast<OpKind>(kind) == OpKind::kReorder) continue;
    EXPECT_TRUE(kinds.contains(static_cast<OpKind>(kind))) << to_string(static_cast<OpKind>(kind));
  }
  EXPECT_EQ(functions.size(), static_cast<std::size_t>(kLastUnaryFunction) + 1);
}

TEST(OpCases, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const OpCase& tested : op_cases()) EXPECT_TRUE(names.insert(test_name(tested)).second) << tested.name;
}

}  // namespace
}  // namespace sluice
