#include "sluice/train/workload/workload_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/train/workload/precision.hpp"

namespace sluice::train {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(WorkloadJsonTest, EveryFieldSurvivesTheRoundTrip) {
  WorkloadOptions options;
  options.model = "bert_base";
  options.onnx = "/some/file.onnx";
  options.onnx_loss = onnx::OnnxLoss::kMaskedToken;
  options.shape = {3, 64, 5, 77, 128, 4, 0.25F};
  options.optimizer = {graph::Optimizer::kAdamW,      0.8F, 0.95F, 1e-6F, 0.01F, true, 0.5F, 3, 2, 1024,
                       graph::Rematerialize::kNothing};
  options.precision = graph::Precision::kBF16;
  options.finer_slices = 4;
  options.threads = 7;
  options.backend = "reference";
  options.other_processors = {{3, "onednn"}};
  const json document = workload_to_json(options);
  const json defaults = workload_to_json({});
  for (const auto& [name, value] : document.items()) EXPECT_NE(value, defaults.at(name)) << name;
  const auto again = workload_from_json(document);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(workload_to_json(*again), document);
  EXPECT_EQ(again->optimizer.optimizer, graph::Optimizer::kAdamW);
  EXPECT_EQ(again->optimizer.rematerialize, graph::Rematerialize::kNothing);
  EXPECT_EQ(again->shape.sequence, 77);
}

TEST(WorkloadJsonTest, MissingFieldsAreDefaults) {
  const auto options = workload_from_json({{"model", "resnet50"}, {"batch", 4}});
  ASSERT_TRUE(options.ok()) << options.error().message;
  WorkloadOptions expected;
  expected.model = "resnet50";
  expected.shape.batch = 4;
  EXPECT_EQ(workload_to_json(*options), workload_to_json(expected));
}

TEST(WorkloadJsonTest, RefusesUnknownFieldsWordsAndTypes) {
  EXPECT_THAT(workload_from_json({{"modle", "resnet50"}}).error().message, HasSubstr("no field 'modle'"));
  EXPECT_THAT(workload_from_json({{"batch", "many"}}).error().message,
              HasSubstr("not a workload: /batch: expected a whole"));
  EXPECT_THAT(workload_from_json({{"dropout", true}}).error().message, HasSubstr("/dropout: expected a number"));
  EXPECT_THAT(workload_from_json({{"keep_norm_outputs", 1}}).error().message,
              HasSubstr("/keep_norm_outputs: expected"));
  EXPECT_THAT(workload_from_json(json::array()).error().message, HasSubstr("expected an object"));
  EXPECT_THAT(workload_from_json({{"optimizer", "lamb"}}).error().message,
              AllOf(HasSubstr("/optimizer: "), HasSubstr("'lamb'")));
  EXPECT_THAT(workload_from_json({{"precision", "fp8"}}).error().message, HasSubstr("'fp8'"));
  EXPECT_THAT(workload_from_json({{"loss", "hinge"}}).error().message, HasSubstr("'hinge'"));
}

TEST(WorkloadTest, FallsBackFromBf16WithANote) {
  const auto workload =
      build_workload({.model = "resnet20", .shape = {.batch = 1}, .precision = graph::Precision::kBF16, .threads = 1});
  ASSERT_TRUE(workload.ok()) << workload.error().message;
  const bool fell_back = workload->options.precision == graph::Precision::kF32;
  EXPECT_EQ(fell_back, !cpu_computes_bf16());
  EXPECT_EQ(fell_back, !workload->notes.empty());
  const bool has_bf16 = std::ranges::any_of(
      workload->graph().tensors(), [](const graph::Tensor& tensor) { return tensor.dtype == graph::DType::kBF16; });
  EXPECT_EQ(has_bf16, !fell_back);
}

}  // namespace
}  // namespace sluice::train
