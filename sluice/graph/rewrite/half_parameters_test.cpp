#include "sluice/graph/rewrite/half_parameters.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/graph/builder/builder.hpp"
#include "sluice/graph/builder/validate.hpp"
#include "sluice/graph/rewrite/mixed_precision.hpp"

namespace sluice::graph {
namespace {

Graph halved(Optimizer optimizer) {
  GraphBuilder builder("net");
  builder.begin_layer("embedding");
  const TensorId ids =
      builder.inputs({{"tokens", Content::kTokens, {2, 6}, 50}, {"next", Content::kNextTokens, {2, 6}, 50}})[0];
  TensorId x = builder.layer_norm(builder.embedding(ids, 50, 8));
  builder.begin_layer("middle");
  x = builder.relu(builder.dense(x, 8));
  builder.begin_layer("head");
  builder.softmax_cross_entropy(builder.dense(x, 50));
  const Graph forward = std::move(builder.finish()).value();
  return keep_half_parameters(to_mixed_precision(build_training_graph(forward, {.optimizer = optimizer})));
}

const Tensor* find_tensor(const Graph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.tensors(), name, &Tensor::name);
  return found == graph.tensors().end() ? nullptr : &*found;
}

const Op& update_of(const Graph& graph, std::string_view parameter) {
  return *std::ranges::find(graph.ops(), std::string(parameter) + ".update", &Op::name);
}

TEST(HalfParameters, AreInBf16BesideMastersThatBeginAsTheyDid) {
  const Graph graph = halved(Optimizer::kAdam);
  ASSERT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  const Tensor* const half = find_tensor(graph, "middle.weight");
  const Tensor* const master = find_tensor(graph, "middle.weight.master");
  ASSERT_NE(half, nullptr);
  ASSERT_NE(master, nullptr);
  EXPECT_EQ(half->dtype, DType::kBF16);
  EXPECT_EQ(half->bytes, 8 * 8 * 2);
  EXPECT_EQ(half->role, Role::kParameter);
  EXPECT_EQ(master->dtype, DType::kF32);
  EXPECT_EQ(master->bytes, 8 * 8 * 4);
  EXPECT_EQ(master->role, Role::kOptimizerState);
  EXPECT_EQ(master->init.kind, half->init.kind);
  EXPECT_EQ(master->init.stream, half->init.stream);
}

TEST(HalfParameters, StayInFp32WhereTheyAreReadSo) {
  const Graph graph = halved(Optimizer::kAdam);
  for (const Tensor& tensor : graph.tensors()) {
    const bool weight = tensor.name == "middle.weight" || tensor.name == "head.weight";
    if (tensor.role != Role::kParameter) continue;
    EXPECT_EQ(tensor.dtype, weight ? DType::kBF16 : DType::kF32) << tensor.name;
  }
}

TEST(HalfParameters, AreReadWithoutCastsAndWrittenByTheirMastersUpdate) {
  for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kAdamW}) {
    const Graph graph = halved(optimizer);
    for (const Op& op : graph.ops()) {
      if (op.kind != OpKind::kCast) continue;
      EXPECT_FALSE(is_persistent(graph.tensor(op.inputs[0]).role)) << op.name;
    }
    const Op& update = update_of(graph, "middle.weight");
    ASSERT_EQ(update.outputs.size(), update.inputs.size());
    EXPECT_EQ(graph.tensor(update.inputs[0]).name, "middle.weight.master");
    EXPECT_EQ(update.outputs[0], update.inputs[0]);
    EXPECT_EQ(graph.tensor(update.outputs.back()).name, "middle.weight");
    EXPECT_EQ(graph.tensor(update.inputs[1]).dtype, DType::kBF16);
    EXPECT_EQ(graph.tensor(update.inputs[1]).role, Role::kGradient);
  }
}

TEST(HalfParameters, HaveMastersOfTheSameRows) {
  Tensor slice{.name = "w", .shape = {128, 4}, .role = Role::kParameter};
  cut_rows(slice, {64, 128});
  EXPECT_EQ(slice.name, "w[64:128]");
  Tensor master = slice;
  name_beside(master, whole_name(slice) + ".master", slice);
  EXPECT_EQ(master.name, "w.master[64:128]");
  EXPECT_EQ(master.part, (TensorPart{"w.master", {64, 128}}));
  EXPECT_EQ(parameter_name(master), "w");
}

TEST(HalfParameters, OfAnUpdateMustHaveItsShape) {
  Graph graph = halved(Optimizer::kAdam);
  const auto index = as_id<OpIndex>(&update_of(graph, "middle.weight") - graph.ops().data());
  graph.op(index).outputs.back() = update_of(graph, "head.weight").outputs.back();
  const Status status = validate(graph);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("[50, 8] should be [8, 8]"), std::string::npos) << status.error().message;
}

}  // namespace
}  // namespace sluice::graph
