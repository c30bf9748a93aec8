// Sliced graphs against whole ones on the reference backend: the same training, up to the order of sums.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/graph/builder/validate.hpp"
#include "sluice/graph/rewrite/evaluation.hpp"
#include "sluice/graph/rewrite/fold.hpp"
#include "sluice/graph/rewrite/slice_batch.hpp"
#include "sluice/graph/rewrite/slice_dense.hpp"
#include "sluice/kernels/backends/backends.hpp"
#include "sluice/testing/op_cases/graph_runner.hpp"
#include "sluice/testing/small_networks.hpp"
#include "sluice/testing/wave_input.hpp"

namespace sluice::kernels {
namespace {

constexpr std::uint64_t kSlicedNetworkSeed = 91;
constexpr int kNetworkSteps = 3;

std::vector<float> losses(const graph::Graph& graph) {
  EXPECT_TRUE(graph::validate(graph).ok()) << graph::validate(graph).error().message;
  const auto compiled = make_reference_backend()->compile(graph, 1).value();
  testing::GraphRunner runner(*compiled);
  runner.initialise(kSlicedNetworkSeed);
  testing::WaveInput input(graph);
  std::vector<float> losses;
  for (int step = 0; step < kNetworkSteps; ++step) {
    runner.run_step({.step = step, .learning_rate = 0.02F, .input = &input, .seed = kSlicedNetworkSeed});
    for (graph::TensorId id = 0; id < runner.graph().tensor_count(); ++id) {
      const graph::Tensor& tensor = runner.graph().tensor(id);
      if (tensor.role == graph::Role::kOutput && tensor.shape == graph::Shape{1})
        losses.push_back(runner.plain(id).at(0));
    }
  }
  return losses;
}

class SlicedNetworks : public ::testing::TestWithParam<testing::SmallNetwork> {
 protected:
  const graph::Graph folded_ = graph::fold(GetParam().forward);
};

// A limit of a few hundred bytes slices every weight of a dense layer or an embedding, feature by feature.
TEST_P(SlicedNetworks, SlicedByFeaturesTrainAlike) {
  for (const graph::Optimizer optimizer : {graph::Optimizer::kSgd, graph::Optimizer::kAdamW}) {
    const graph::Graph whole = graph::build_training_graph(folded_, {.optimizer = optimizer});
    const graph::Graph sliced = graph::slice_dense(whole, 300);
    EXPECT_THAT(losses(sliced), ::testing::Pointwise(::testing::FloatNear(2e-4F), losses(whole)));
  }
}

TEST_P(SlicedNetworks, SlicedBySamplesTrainAlike) {
  const graph::Graph whole = graph::build_training_graph(folded_, {});
  for (const Bytes limit : {1 * kKiB, 8 * kKiB}) {
    EXPECT_THAT(losses(graph::slice_batch(whole, limit)),
                ::testing::Pointwise(::testing::FloatNear(2e-4F), losses(whole)));
  }
}

// Nothing is summed in another order there, so all bits are the same.
TEST_P(SlicedNetworks, SlicedByRowsOrSamplesEvaluateTheSame) {
  const graph::Graph whole = graph::build_evaluation_graph(folded_);
  EXPECT_EQ(losses(graph::slice_batch(graph::slice_dense(whole, 300), 1 * kKiB)), losses(whole));
}

INSTANTIATE_TEST_SUITE_P(Small, SlicedNetworks, ::testing::ValuesIn(testing::small_networks()),
                         [](const auto& tested) { return tested.param.name; });

// So that the limits above mean something.
TEST(SlicedNetworksTogether, CoverTheSlicedKinds) {
  std::map<graph::OpKind, int> kinds;
  int by_samples = 0;
  for (const testing::SmallNetwork& network : testing::small_networks()) {
    const graph::Graph whole = graph::build_training_graph(graph::fold(network.forward), {});
    const graph::Graph by_features = graph::slice_dense(whole, 300);
    for (const graph::Op& op : by_features.ops()) kinds[op.kind] += op.slice.end != 0 ? 1 : 0;
    const graph::Graph sliced = graph::slice_batch(whole, 1 * kKiB);
    by_samples += sliced.op_count() > whole.op_count() ? 1 : 0;
  }
  for (const graph::OpKind kind :
       {graph::OpKind::kDense, graph::OpKind::kDenseBackwardData, graph::OpKind::kDenseBackwardWeights,
        graph::OpKind::kEmbedding, graph::OpKind::kEmbeddingBackward}) {
    EXPECT_GT(kinds[kind], 0) << to_string(kind);
  }
  EXPECT_GE(by_samples, 4);
}

}  // namespace
}  // namespace sluice::kernels
