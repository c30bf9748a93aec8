// What preparing a model for training inside a budget leaves: valid graphs whose largest op fits a small budget.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/builder/validate.hpp"
#include "sluice/graph/footprint.hpp"
#include "sluice/graph/rewrite/prepare.hpp"
#include "sluice/models/model.hpp"

namespace sluice::models {
namespace {

struct Case {
  std::string model;
  std::int64_t batch = 1;
  std::int64_t sequence = 0;
  double largest_op = 0.2;  // at most this part of the peak; much less where only logits were large
};

Bytes largest_op(const graph::Graph& graph) {
  const graph::Footprint footprint = graph::measure_footprint(graph);
  return *std::max_element(footprint.operands.begin(), footprint.operands.end());
}

class PreparedModels : public ::testing::TestWithParam<Case> {
 protected:
  static graph::Graph forward() {
    ModelOptions options;
    options.batch = GetParam().batch;
    options.sequence = GetParam().sequence;
    return build_model(GetParam().model, options).value();
  }
};

TEST_P(PreparedModels, NoOpDecidesTheSmallestBudgetAlone) {
  const graph::Graph graph = graph::prepare_training_graph(forward(), {});
  ASSERT_TRUE(graph::validate(graph).ok()) << graph::validate(graph).error().message;
  const graph::Footprint footprint = graph::measure_footprint(graph);
  const auto largest = std::max_element(footprint.operands.begin(), footprint.operands.end());
  EXPECT_LE(static_cast<double>(*largest), GetParam().largest_op * static_cast<double>(footprint.peak))
      << graph.op(as_id<graph::OpIndex>(largest - footprint.operands.begin())).name << " needs " << *largest
      << " bytes of a peak of " << footprint.peak;
}

TEST_P(PreparedModels, AreValidInBf16AndForEvaluation) {
  const graph::Graph full = graph::prepare_training_graph(forward(), {});
  const graph::Graph half = graph::prepare_training_graph(forward(), {}, graph::Precision::kBF16);
  EXPECT_TRUE(graph::validate(half).ok()) << graph::validate(half).error().message;
  EXPECT_LT(graph::measure_footprint(half).peak, graph::measure_footprint(full).peak);
  const graph::Graph evaluation = graph::prepare_evaluation_graph(forward());
  EXPECT_TRUE(graph::validate(evaluation).ok()) << graph::validate(evaluation).error().message;
  EXPECT_LT(graph::measure_footprint(evaluation).peak, graph::measure_footprint(full).peak);
  EXPECT_LE(largest_op(evaluation), largest_op(full)) << "what trains in a budget is evaluated in it";
}

// What decides the smallest budget; what is saved and restored by name stays as it is in both graphs.
TEST_P(PreparedModels, SlicedFinerNeedNoMore) {
  const graph::Graph finer = graph::prepare_training_graph(forward(), {}, graph::Precision::kF32, 4);
  ASSERT_TRUE(graph::validate(finer).ok()) << graph::validate(finer).error().message;
  EXPECT_LE(largest_op(finer), largest_op(graph::prepare_training_graph(forward(), {})));
  const graph::Graph evaluation = graph::prepare_evaluation_graph(forward(), graph::Precision::kF32, 4);
  ASSERT_TRUE(graph::validate(evaluation).ok()) << graph::validate(evaluation).error().message;
  std::map<std::string, Bytes> trained;
  for (const graph::Tensor& tensor : finer.tensors()) trained[tensor.name] = tensor.bytes;
  for (const graph::Tensor& tensor : evaluation.tensors()) {
    if (!graph::is_persistent(tensor.role)) continue;
    ASSERT_TRUE(trained.contains(tensor.name)) << tensor.name;
    EXPECT_EQ(trained[tensor.name], tensor.bytes) << tensor.name;
  }
}

TEST(FinerSlices, OfLargeActivationsNeedAQuarter) {
  const graph::Graph forward = build_model("mobilenet_v2", {.batch = 32}).value();
  const auto bytes = [&](int finer) {
    return static_cast<double>(largest_op(graph::prepare_training_graph(forward, {}, graph::Precision::kF32, finer)));
  };
  EXPECT_LE(bytes(4), 0.4 * bytes(1));
}

INSTANTIATE_TEST_SUITE_P(OfThePapers, PreparedModels,
                         ::testing::Values(Case{"resnet50", 16}, Case{"vgg16", 8}, Case{"inception_v3", 8},
                                           Case{"inception_v4", 8}, Case{"densenet121", 16}, Case{"mobilenet_v1", 32},
                                           Case{"mobilenet_v2", 32}, Case{"squeezenet1_1", 32}, Case{"vgg416", 2},
                                           Case{"lstm", 20, 0, 0.1}, Case{"bert_base", 8, 128, 0.07},
                                           Case{"gpt2_small", 4, 256, 0.07}, Case{"dcgan", 32}),
                         [](const auto& tested) { return tested.param.model; });

}  // namespace
}  // namespace sluice::models
