// Whole training steps on the fast backends against the reference: the small networks as they are prepared for
// training, for several steps, so that updates and running statistics count too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sluice/graph/rewrite/prepare.hpp"
#include "sluice/kernels/backends/backends.hpp"
#include "sluice/testing/on_gpu.hpp"
#include "sluice/testing/op_cases/graph_runner.hpp"
#include "sluice/testing/op_cases/op_cases.hpp"
#include "sluice/testing/small_networks.hpp"
#include "sluice/testing/training_run.hpp"
#include "sluice/testing/wave_input.hpp"

namespace sluice::kernels {
namespace {

constexpr std::uint64_t kAgreementSeed = 31;
constexpr int kAgreeingSteps = 3;

struct Training {
  std::vector<float> losses;
  testing::NamedValues persistent;
};

Training train(const std::unique_ptr<Backend>& backend, const graph::Graph& graph) {
  const auto compiled = backend->compile(graph, 2);
  SLUICE_CHECK(compiled.ok(), compiled.error().message);
  testing::GraphRunner runner(**compiled);
  runner.initialise(kAgreementSeed);
  testing::WaveInput input(runner.graph());
  Training result;
  for (int step = 0; step < kAgreeingSteps; ++step) {
    runner.run_step({.step = step, .learning_rate = 0.02F, .input = &input, .seed = kAgreementSeed});
    for (graph::TensorId id = 0; id < runner.graph().tensor_count(); ++id)
      if (runner.graph().tensor(id).role == graph::Role::kOutput) result.losses.push_back(runner.plain(id).at(0));
  }
  for (graph::TensorId id = 0; id < runner.graph().tensor_count(); ++id) {
    const graph::Tensor& tensor = runner.graph().tensor(id);
    if (graph::is_persistent(tensor.role)) result.persistent[tensor.name] = runner.plain(id);
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

struct AgreeingCase {
  std::string backend;
  testing::SmallNetwork network;
};

std::ostream& operator<<(std::ostream& out, const AgreeingCase& tested) { return out << tested.network.name; }

class BackendsAgree : public ::testing::TestWithParam<AgreeingCase> {
 protected:
  void SetUp() override {
    if (GetParam().backend == "cuda") SLUICE_SKIP_WITHOUT_GPU();
  }

  std::unique_ptr<Backend> backend() const { return make_backend(GetParam().backend).value(); }
  const graph::Graph& forward() const { return GetParam().network.forward; }
};

TEST_P(BackendsAgree, OnLossesAndParameters) {
  const graph::Graph graph = graph::prepare_training_graph(forward(), {});
  const Training actual = train(backend(), graph);
  const Training expected = train(make_reference_backend(), graph);
  expect_close(actual.losses, expected.losses, 1e-4F);
  ASSERT_EQ(actual.persistent.size(), expected.persistent.size());
  for (const auto& [name, values] : expected.persistent) {
    SCOPED_TRACE(name);
    expect_close(actual.persistent.at(name), values, 1e-3F);
  }
}

TEST_P(BackendsAgree, InBf16) {
  const graph::Graph graph = graph::prepare_training_graph(forward(), {}, graph::Precision::kBF16);
  expect_close(train(backend(), graph).losses, train(make_reference_backend(), graph).losses, 0.02F);
  // Every parameter and momentum too, so every gradient. bf16 rounds by up to 0.4 %, at every op, and the backends add
  // in different orders: a ReLU near its bend may fall on either side.
  const testing::NamedValues actual = testing::trained(*testing::compiled(backend(), graph));
  const testing::NamedValues expected = testing::trained(*testing::compiled(make_reference_backend(), graph));
  EXPECT_EQ(testing::farthest(actual, expected, 0.1), "");
}

TEST_P(BackendsAgree, WithAdam) {
  const graph::Graph graph = graph::prepare_training_graph(forward(), {.optimizer = graph::Optimizer::kAdamW});
  expect_close(train(backend(), graph).losses, train(make_reference_backend(), graph).losses, 2e-3F);
}

// Recomputed activations are the kept ones, bit for bit, in the fast kernels too.
TEST_P(BackendsAgree, RecomputingActivationsChangesNoBit) {
  const Training kept =
      train(backend(), graph::prepare_training_graph(forward(), {.rematerialize = graph::Rematerialize::kNothing}));
  for (const graph::Rematerialize what : {graph::Rematerialize::kCheap, graph::Rematerialize::kChains}) {
    const Training recomputed = train(backend(), graph::prepare_training_graph(forward(), {.rematerialize = what}));
    EXPECT_EQ(kept.losses, recomputed.losses);
    EXPECT_EQ(kept.persistent, recomputed.persistent);
  }
}

std::vector<AgreeingCase> networks_on(const std::string& backend) {
  std::vector<AgreeingCase> cases;
  for (testing::SmallNetwork& each : testing::small_networks()) cases.push_back({backend, std::move(each)});
  return cases;
}

std::string network_of(const ::testing::TestParamInfo<AgreeingCase>& tested) { return tested.param.network.name; }

INSTANTIATE_TEST_SUITE_P(Onednn, BackendsAgree, ::testing::ValuesIn(networks_on("onednn")), network_of);
INSTANTIATE_TEST_SUITE_P(Cuda, BackendsAgree, ::testing::ValuesIn(testing::cases_on_gpu(networks_on("cuda"))),
                         network_of);

}  // namespace
}  // namespace sluice::kernels
