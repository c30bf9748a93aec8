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

namespace sluice {
namespace {

constexpr std::uint64_t kSlicedNetworkSeed = 91;
constexpr int kNetworkSteps = 3;

std::vector<float> losses(const Graph& graph) {
  EXPECT_TRUE(validate(graph).ok()) << validate(graph).error().message;
  const auto compiled = make_reference_backend()->compile(graph, 1).value();
  GraphRunner runner(*compiled);
  runner.initialise(kSlicedNetworkSeed);
  WaveInput input(graph);
  std::vector<float> losses;
  for (int step = 0; step < kNetworkSteps; ++step) {
    runner.run_step({.step = step, .learning_rate = 0.02F, .input = &input, .seed = kSlicedNetworkSeed});
    for (TensorId id = 0; id < runner.graph().tensor_count(); ++id) {
      const Tensor& tensor = runner.graph().tensor(id);
      if (tensor.role == Role::kOutput && tensor.shape == Shape{1}) losses.push_back(runner.plain(id).at(0));
    }
  }
  return losses;
}

class SlicedNetworks : public ::testing::TestWithParam<SmallNetwork> {
 protected:
  const Graph folded_ = fold(GetParam().forward);
};

// A limit of a few hundred bytes slices every weight of a dense layer or an embedding, feature by feature.
TEST_P(SlicedNetworks, SlicedByFeaturesTrainAlike) {
  for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kAdamW}) {
    const Graph whole = build_training_graph(folded_, {.optimizer = optimizer});
    const Graph sliced = slice_dense(whole, 300);
    EXPECT_THAT(losses(sliced), ::testing::Pointwise(::testing::FloatNear(2e-4F), losses(whole)));
  }
}

TEST_P(SlicedNetworks, SlicedBySamplesTrainAlike) {
  const Graph whole = build_training_graph(folded_, {});
  for (const Bytes limit : {1 * kKiB, 8 * kKiB}) {
    EXPECT_THAT(losses(slice_batch(whole, limit)), ::testing::Pointwise(::testing::FloatNear(2e-4F), losses(whole)));
  }
}

// Nothing is summed in another order there, so all bits are the same.
TEST_P(SlicedNetworks, SlicedByRowsOrSamplesEvaluateTheSame) {
  const Graph whole = build_evaluation_graph(folded_);
  EXPECT_EQ(losses(slice_batch(slice_dense(whole, 300), 1 * kKiB)), losses(whole));
}

INSTANTIATE_TEST_SUITE_P(Small, SlicedNetworks, ::testing::ValuesIn(small_networks()),
                         [](const auto& tested) { return tested.param.name; });

// So that the limits above mean something.
TEST(SlicedNetworksTogether, CoverTheSlicedKinds) {
  std::map<OpKind, int> kinds;
  int by_samples = 0;
  for (const SmallNetwork& network : small_networks()) {
    const Graph whole = build_training_graph(fold(network.forward), {});
    const Graph by_features = slice_dense(whole, 300);
    for (const Op& op : by_features.ops()) kinds[op.kind] += op.attributes.out_end != 0 ? 1 : 0;
    const Graph sliced = slice_batch(whole, 1 * kKiB);
    by_samples += sliced.op_count() > whole.op_count() ? 1 : 0;
  }
  for (const OpKind kind : {OpKind::kDense, OpKind::kDenseBackwardData, OpKind::kDenseBackwardWeights,
                            OpKind::kEmbedding, OpKind::kEmbeddingBackward}) {
    EXPECT_GT(kinds[kind], 0) << to_string(kind);
  }
  EXPECT_GE(by_samples, 4);
}

}  // namespace
}  // namespace sluice
