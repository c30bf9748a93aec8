#include "sluice/graph/validate.hpp"

#include <gtest/gtest.h>

#include <string>

#include "sluice/graph/autodiff.hpp"
#include "sluice/graph/builder.hpp"
#include "sluice/graph/slice_dense.hpp"

namespace sluice {
namespace {

Graph training_graph() {
  GraphBuilder builder("net");
  builder.begin_layer("all");
  TensorId x = builder.input(2, 4, 8, 8);
  x = builder.batch_norm(builder.conv2d(x, {.out_channels = 4, .kernel = 3, .stride = 2, .padding = 1}), true);
  x = builder.conv2d(x, {.out_channels = 4, .kernel = 3, .stride = 2, .padding = 1, .bias = true});
  x = builder.relu(builder.add(x, x));
  x = builder.global_avg_pool(builder.max_pool(x, {}));
  builder.softmax_cross_entropy(builder.dense(x, 40));
  return slice_dense(build_training_graph(std::move(builder.finish()).value(), {}), Bytes{16} * 16);
}

TEST(Validate, AcceptsEveryKindOfOp) {
  const Status status = validate(training_graph());
  EXPECT_TRUE(status.ok()) << status.error().message;
}

TEST(Validate, FindsAnyOperandOfAnyOpWithTheWrongShape) {
  const Graph graph = training_graph();
  int changed = 0;
  for (OpIndex i = 0; i < graph.op_count(); ++i) {
    if (graph.op(i).kind == OpKind::kInput) continue;
    for (const bool output : {false, true}) {
      const auto& operands = output ? graph.op(i).outputs : graph.op(i).inputs;
      for (std::size_t o = 0; o < operands.size(); ++o) {
        Graph broken = graph;
        Tensor odd = graph.tensor(operands[o]);
        odd.shape.front() += 1;
        (output ? broken.op(i).outputs : broken.op(i).inputs)[o] = broken.add_tensor(odd);
        const Status status = check_op_shapes(broken, broken.op(i));
        EXPECT_FALSE(status.ok()) << graph.op(i).name << (output ? " output " : " input ") << o;
        if (status.ok()) continue;
        EXPECT_NE(status.error().message.find("'" + graph.op(i).name + "'"), std::string::npos);
        ++changed;
      }
    }
  }
  EXPECT_GT(changed, 100);
}

TEST(Validate, FindsMissingOperands) {
  const Graph graph = training_graph();
  for (OpIndex i = 1; i < graph.op_count(); ++i) {
    Graph broken = graph;
    broken.op(i).inputs.clear();
    EXPECT_FALSE(check_op_shapes(broken, broken.op(i)).ok()) << graph.op(i).name;
    broken = graph;
    broken.op(i).outputs.clear();
    EXPECT_FALSE(check_op_shapes(broken, broken.op(i)).ok()) << graph.op(i).name;
  }
}

TEST(Validate, FindsAReadBeforeTheFirstWrite) {
  Graph graph = training_graph();
  std::swap(graph.op(1), graph.op(2));
  const Status status = validate(graph);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("which nothing wrote before"), std::string::npos) << status.error().message;
}

TEST(Validate, FindsAnOpWithoutALayer) {
  Graph graph = training_graph();
  graph.op(3).layer = 1;
  EXPECT_FALSE(validate(graph).ok());
}

}  // namespace
}  // namespace sluice
