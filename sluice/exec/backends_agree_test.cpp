// Whole training steps on the oneDNN backend against the reference: the small networks as they are prepared for
// training, for several steps, so that updates and running statistics count too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sluice/graph/rewrite/prepare.hpp"
#include "sluice/testing/graph_runner.hpp"
#include "sluice/testing/op_cases/op_cases.hpp"
#include "sluice/testing/small_networks.hpp"
#include "sluice/testing/training_run.hpp"
#include "sluice/testing/wave_input.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t kAgreementSeed = 31;
constexpr int kAgreeingSteps = 3;

struct Training {
  std::vector<float> losses;
  NamedValues persistent;
};

Training train(const std::unique_ptr<Backend>& backend, const Graph& graph) {
  const auto compiled = backend->compile(graph, 2);
  SLUICE_CHECK(compiled.ok(), compiled.error().message);
  GraphRunner runner(**compiled);
  runner.initialise(kAgreementSeed);
  WaveInput input(runner.graph());
  Training result;
  for (int step = 0; step < kAgreeingSteps; ++step) {
    runner.run_step({.step = step, .learning_rate = 0.02F, .input = &input, .seed = kAgreementSeed});
    for (TensorId id = 0; id < runner.graph().tensor_count(); ++id)
      if (runner.graph().tensor(id).role == Role::kOutput) result.losses.push_back(runner.plain(id).at(0));
  }
  for (TensorId id = 0; id < runner.graph().tensor_count(); ++id) {
    const Tensor& tensor = runner.graph().tensor(id);
    if (is_persistent(tensor.role)) result.persistent[tensor.name] = runner.plain(id);
  }
  return result;
}

// Relative to the largest element.
void expect_close(const std::vector<float>& actual, const std::vector<float>& expected, float tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  float largest = 1e-2F;
  for (const float value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance * largest) << "element " << i;
}

class BackendsAgree : public ::testing::TestWithParam<SmallNetwork> {};

TEST_P(BackendsAgree, OnLossesAndParameters) {
  const Graph graph = prepare_training_graph(GetParam().forward, {});
  const Training actual = train(make_onednn_backend(), graph);
  const Training expected = train(make_reference_backend(), graph);
  expect_close(actual.losses, expected.losses, 1e-4F);
  ASSERT_EQ(actual.persistent.size(), expected.persistent.size());
  for (const auto& [name, values] : expected.persistent) {
    SCOPED_TRACE(name);
    expect_close(actual.persistent.at(name), values, 1e-3F);
  }
}

TEST_P(BackendsAgree, InBf16) {
  const Graph graph = prepare_training_graph(GetParam().forward, {}, Precision::kBF16);
  expect_close(train(make_onednn_backend(), graph).losses, train(make_reference_backend(), graph).losses, 0.02F);
  // Every parameter and momentum too, so every gradient. bf16 rounds by up to 0.4 %, at every op, and the backends add
  // in different orders: a ReLU near its bend may fall on either side.
  const NamedValues actual = trained(*compiled(make_onednn_backend(), graph));
  const NamedValues expected = trained(*compiled(make_reference_backend(), graph));
  EXPECT_EQ(farthest(actual, expected, 0.1), "");
}

TEST_P(BackendsAgree, WithAdam) {
  const Graph graph = prepare_training_graph(GetParam().forward, {.optimizer = Optimizer::kAdamW});
  expect_close(train(make_onednn_backend(), graph).losses, train(make_reference_backend(), graph).losses, 2e-3F);
}

// Recomputed activations are the kept ones, bit for bit, in the fast kernels too.
TEST_P(BackendsAgree, RecomputingActivationsChangesNoBitOfOnednns) {
  const Training kept =
      train(make_onednn_backend(), prepare_training_graph(GetParam().forward, {.recompute_cheap = false}));
  const Training recomputed =
      train(make_onednn_backend(), prepare_training_graph(GetParam().forward, {.recompute_cheap = true}));
  EXPECT_EQ(kept.losses, recomputed.losses);
  EXPECT_EQ(kept.persistent, recomputed.persistent);
}

INSTANTIATE_TEST_SUITE_P(Small, BackendsAgree, ::testing::ValuesIn(small_networks()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace sluice
