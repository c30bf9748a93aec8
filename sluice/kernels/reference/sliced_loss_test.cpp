// Losses sliced by rows against whole ones, in both backends: the same training of language models, up to the order of
// sums.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "sluice/graph/autodiff/autodiff.hpp"
#include "sluice/graph/builder/validate.hpp"
#include "sluice/graph/rewrite/evaluation.hpp"
#include "sluice/graph/rewrite/fold.hpp"
#include "sluice/graph/rewrite/mixed_precision.hpp"
#include "sluice/graph/rewrite/slice_dense.hpp"
#include "sluice/graph/rewrite/slice_loss.hpp"
#include "sluice/kernels/backends/backends.hpp"
#include "sluice/testing/op_cases/graph_runner.hpp"
#include "sluice/testing/small_models.hpp"
#include "sluice/testing/wave_input.hpp"

namespace sluice::kernels {
namespace {

constexpr std::uint64_t kSlicedLossSeed = 17;
constexpr int kSteps = 3;
constexpr Bytes kRow = 40 * 4;  // of logits, in models of small_options()

using ValuesByName = std::map<std::string, std::vector<float>>;

// The loss of every step, and at the end all that outlives a step.
ValuesByName run(const std::unique_ptr<Backend>& backend, const graph::Graph& graph) {
  EXPECT_TRUE(graph::validate(graph).ok()) << graph::validate(graph).error().message;
  const auto compiled = backend->compile(graph, 2).value();
  testing::GraphRunner runner(*compiled);
  runner.initialise(kSlicedLossSeed);
  testing::WaveInput input(graph);
  ValuesByName values;
  for (int step = 0; step < kSteps; ++step) {
    runner.run_step({.step = step, .learning_rate = 0.02F, .input = &input, .seed = kSlicedLossSeed});
    for (graph::TensorId id = 0; id < runner.graph().tensor_count(); ++id) {
      const graph::Tensor& tensor = runner.graph().tensor(id);
      if (tensor.role == graph::Role::kOutput) values["loss"].push_back(runner.plain(id).at(0));
      if (graph::is_persistent(tensor.role) && step + 1 == kSteps) values[tensor.name] = runner.plain(id);
    }
  }
  return values;
}

void expect_near(const ValuesByName& actual, const ValuesByName& expected, float tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [name, values] : expected) {
    SCOPED_TRACE(name);
    EXPECT_THAT(actual.at(name), ::testing::Pointwise(::testing::FloatNear(tolerance), values));
  }
}

class SlicedLosses : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  static graph::Graph folded() {
    const auto entry = std::ranges::find(models::models(), std::get<0>(GetParam()), &models::ModelEntry::name);
    return graph::fold(models::build_model(entry->name, testing::small_options(*entry)).value());
  }
  static std::unique_ptr<Backend> backend() {
    return std::get<1>(GetParam()) == "onednn" ? make_onednn_backend() : make_reference_backend();
  }
};

TEST_P(SlicedLosses, TrainAlike) {
  for (const graph::Optimizer optimizer : {graph::Optimizer::kSgd, graph::Optimizer::kAdamW}) {
    const graph::Graph whole = graph::build_training_graph(folded(), {.optimizer = optimizer});
    const ValuesByName expected = run(backend(), whole);
    const float tolerance = optimizer == graph::Optimizer::kSgd ? 1e-4F : 2e-3F;
    for (const std::int64_t rows : {1, 5}) {
      expect_near(run(backend(), graph::slice_loss(whole, rows * kRow)), expected, tolerance);
    }
  }
}

// Weights in parts too: compared by their losses, for they have other names.
TEST_P(SlicedLosses, TrainAlikeWithWeightsSlicedByFeatures) {
  const graph::Graph whole = graph::build_training_graph(folded(), {});
  const ValuesByName sliced = run(backend(), graph::slice_dense(graph::slice_loss(whole, 6 * kRow), 16 * 64 * 4));
  EXPECT_THAT(sliced.at("loss"), ::testing::Pointwise(::testing::FloatNear(1e-4F), run(backend(), whole).at("loss")));
}

TEST_P(SlicedLosses, TrainAlikeInBf16) {
  const graph::Graph whole = graph::build_training_graph(folded(), {});
  const ValuesByName sliced = run(backend(), graph::to_mixed_precision(graph::slice_loss(whole, 6 * kRow)));
  EXPECT_THAT(sliced.at("loss"), ::testing::Pointwise(::testing::FloatNear(0.02F),
                                                      run(backend(), graph::to_mixed_precision(whole)).at("loss")));
}

TEST_P(SlicedLosses, EvaluateAlike) {
  const graph::Graph whole = graph::build_evaluation_graph(folded());
  expect_near(run(backend(), graph::slice_loss(whole, 3 * kRow)), run(backend(), whole), 1e-5F);
}

INSTANTIATE_TEST_SUITE_P(Small, SlicedLosses,
                         ::testing::Combine(::testing::Values("gpt2_small", "bert_base", "lstm"),
                                            ::testing::Values("reference", "onednn")),
                         [](const auto& tested) {
                           return std::get<0>(tested.param) + "_" + std::get<1>(tested.param);
                         });

}  // namespace
}  // namespace sluice::kernels
