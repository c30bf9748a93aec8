// Evaluation on data that was not trained on: it measures what was learnt, does not disturb training, and keeps to the
// budget, on images and on text.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "sluice/graph/builder/builder.hpp"
#include "tests/cli/command_runner.hpp"
#include "tests/e2e/trained_run.hpp"

namespace sluice::tests {
namespace {

constexpr std::int64_t kPixels = 28 * 28;

void write_words(std::ofstream& file, const std::vector<std::int64_t>& words) {
  for (const std::int64_t word : words) {
    for (int shift = 24; shift >= 0; shift -= 8) file.put(static_cast<char>(word >> shift));
  }
}

// Images in MNIST's format whose class is the place of a bright bar.
void write_bars(const TemporaryFolder& folder, const std::string& prefix, std::int64_t count) {
  std::ofstream images(folder.file(prefix + "-images-idx3-ubyte"), std::ios::binary);
  std::ofstream labels(folder.file(prefix + "-labels-idx1-ubyte"), std::ios::binary);
  write_words(images, {0x803, count, 28, 28});
  write_words(labels, {0x801, count});
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t label = i * 7 % 10;
    labels.put(static_cast<char>(label));
    for (std::int64_t pixel = 0; pixel < kPixels; ++pixel) {
      const bool bar = pixel / 28 / 3 == label;
      images.put(static_cast<char>(bar ? 200 + (i * 31 + pixel) % 50 : (i * 17 + pixel * 13) % 60));
    }
  }
}

class ValidationTest : public ::testing::Test {
 protected:
  ValidationTest() {
    write_bars(folder_, "train", 256);
    write_bars(folder_, "t10k", 50);  // not a multiple of the batch
  }

  train::SessionOptions options(bool validate = true) const {
    return {.data = "mnist:" + folder_.path().string(), .seed = 1, .validate = validate};
  }

  TemporaryFolder folder_;
  const memory::Machine machine_ = test_machine(1, {"file"});
};

TEST_F(ValidationTest, AccuracyBeatsChanceAndTrainingGoesOnUndisturbed) {
  train::Workload workload = small_workload("resnet20", 16, 1);
  const plan::Plan plan = *test_plan(workload, machine_, "sentinel", "30%");
  constexpr std::int64_t kTrainedSteps = 40;
  const TrainedRun undisturbed = train(workload, machine_, plan, kTrainedSteps, 0.02F, options(false));
  auto session = train::Session::create(workload, machine_, plan, options());
  ASSERT_TRUE(session.ok()) << session.error().message;
  std::vector<train::ValidationResult> results;
  for (std::int64_t step = 0; step < kTrainedSteps; ++step) {
    if (step % 20 == 0) results.push_back((*session)->validate(0).value());
    const auto outcome = (*session)->run_step(step, 0.02F);
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    EXPECT_EQ(outcome->loss, undisturbed.losses[static_cast<std::size_t>(step)]) << "step " << step;
  }
  results.push_back((*session)->validate(0).value());
  EXPECT_EQ(*(*session)->hash_parameters(), undisturbed.parameter_hash);
  EXPECT_EQ(results.back().predictions, 50);
  EXPECT_EQ(results.back().batches, 4);
  EXPECT_GT(*results.back().accuracy, 0.5);
  EXPECT_GT(*results.back().accuracy, *results.front().accuracy);
  EXPECT_LT(results.back().loss, results.front().loss);
}

// A class for each pixel, which the data have for the whole image.
TEST_F(ValidationTest, CountsThePixelsOfEachImageOnce) {
  const data::InputTensor images = data::input_tensors(small_workload("resnet20", 16, 1).graph()).front();
  const graph::Shape& shape = images.shape;
  graph::GraphBuilder builder("pixels");
  builder.begin_layer("input");
  const std::vector<graph::TensorId> data =
      builder.inputs({{"images", graph::Content::kImages, shape, 0},
                      {"labels", graph::Content::kLabels, {shape[0], shape[2], shape[3]}, 10}});
  builder.begin_layer("classes");
  const graph::TensorId logits = builder.conv2d(data[0], {.out_channels = 10, .kernel = 1});
  builder.softmax_cross_entropy(builder.transpose(logits, {0, 2, 3, 1}), data[1]);
  train::Workload workload =
      train::build_workload(train::ForwardModel{.graph = *builder.finish()}, {.threads = 1}).value();
  auto session =
      train::Session::create(workload, machine_, *test_plan(workload, machine_, "fast-only", "100%"), options());
  ASSERT_TRUE(session.ok()) << session.error().message;
  const train::ValidationResult result = (*session)->validate(0).value();
  EXPECT_EQ(result.per_image, shape[2] * shape[3]);
  EXPECT_EQ(result.predictions, 50 * result.per_image);  // the last batch is not full
  EXPECT_GE(*result.accuracy, 0);
  EXPECT_LE(*result.accuracy, 1);
  EXPECT_NE(describe(result).find("pixels"), std::string::npos);
}

TEST_F(ValidationTest, SameFiguresInEveryBudget) {
  train::Workload workload = small_workload("resnet20", 16, 1);
  std::vector<double> losses;
  for (const std::string fast : {"100%", "30%"}) {
    const plan::Plan plan = *test_plan(workload, machine_, fast == "100%" ? "fast-only" : "on-demand", fast);
    auto session = train::Session::create(workload, machine_, plan, options());
    ASSERT_TRUE(session.ok()) << session.error().message;
    ASSERT_TRUE((*session)->run_step(0, 0.02F).ok());
    losses.push_back((*session)->validate(2).value().loss);
  }
  EXPECT_EQ(losses[0], losses[1]);
}

// The file of the images is cut short for a moment. Training goes on to the bits that it has without validation, also where
// an evaluation moves parameters about, and where what is in memory is a policy's.
TEST_F(ValidationTest, AValidationThatFailsLeavesTrainingAsItWas) {
  train::Workload workload = small_workload("resnet20", 16, 1);
  const memory::Machine emulated = test_machine(1, {"optane"});
  const std::string images = folder_.file("t10k-images-idx3-ubyte");
  struct Case {
    std::string planner, fast;
    const memory::Machine& machine;
  };
  for (const auto& [planner, fast, machine] :
       {Case{"fast-only", "100%", machine_}, Case{"on-demand", "30%", machine_}, Case{"um", "90%", emulated}}) {
    SCOPED_TRACE(planner);
    const policies::Run run = test_run(workload, machine, planner, fast).value();
    auto undisturbed = train::Session::create(workload, machine, run, options(false)).value();
    auto session = train::Session::create(workload, machine, run, options()).value();
    for (std::int64_t step = 0; step < 6; ++step) {
      ASSERT_TRUE(undisturbed->run_step(step, 0.02F).ok());
      if (step % 2 == 1) {
        const std::string whole = read_text(images);
        std::filesystem::resize_file(images, 16 + 20 * kPixels);  // the second batch fails
        EXPECT_FALSE(session->validate(0).ok());
        std::ofstream(images, std::ios::binary) << whole;
      }
      ASSERT_TRUE(session->running());
      const auto outcome = session->run_step(step, 0.02F);
      ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    }
    EXPECT_EQ(*session->hash_parameters(), *undisturbed->hash_parameters());
    EXPECT_TRUE(session->validate(0).ok()) << "and the next one is as if nothing had been";
  }
}

TEST_F(ValidationTest, WhatAPolicyDidInTheLastStepIsKnownAfterwards) {
  train::Workload workload = small_workload("resnet20", 16, 1);
  const memory::Machine machine = test_machine(1, {"optane"});
  for (const std::string policy : {"um", "dtr"}) {
    SCOPED_TRACE(policy);
    const policies::Run run = test_run(workload, machine, policy, "90%").value();
    auto session = train::Session::create(workload, machine, run, options()).value();
    const program::StepTimes last = session->run_step(0, 0.02F).value().trace;
    const sim::LocalityCount found = session->locality(last).step;
    const auto parts = session->breakdown(last);
    ASSERT_TRUE(session->validate(2).ok());
    EXPECT_EQ(session->locality(last).step.found, found.found);
    EXPECT_EQ(session->locality(last).step.requested, found.requested);
    if (policy == "dtr") {
      EXPECT_GT(parts->recomputation, 0);
      EXPECT_EQ(session->breakdown(last)->recomputation, parts->recomputation);
    } else {
      EXPECT_LT(found.found, found.requested);
    }
  }
}

TEST_F(ValidationTest, TextHasAPerplexityThatFalls) {
  std::ofstream(folder_.file("text")) << [] {
    std::string text;
    for (int i = 0; i < 2000; ++i) text += "the cat sat on the mat. ";
    return text;
  }();
  train::Workload workload =
      test_workload({.model = "gpt2_small",
                     .shape = {.batch = 4, .classes = 256, .sequence = 32, .width = 64, .depth = 1},
                     .optimizer = {.optimizer = graph::Optimizer::kAdamW}});
  const plan::Plan plan = *test_plan(workload, machine_, "sentinel", "40%");
  auto session = train::Session::create(workload, machine_, plan,
                                        {.data = "tokens:" + folder_.file("text"), .seed = 1, .validate = true});
  ASSERT_TRUE(session.ok()) << session.error().message;
  const train::ValidationResult before = (*session)->validate(5).value();
  for (std::int64_t step = 0; step < 30; ++step) ASSERT_TRUE((*session)->run_step(step, 0.003F).ok());
  const train::ValidationResult after = (*session)->validate(5).value();
  EXPECT_EQ(after.predictions, 5 * 4 * 32);
  EXPECT_FALSE(after.accuracy);
  EXPECT_GT(before.perplexity(), 100);
  EXPECT_LT(after.perplexity(), 20);
}

TEST_F(ValidationTest, SaysWhatCannotBeMeasured) {
  train::Workload workload = small_workload("resnet20", 4, 1);
  const plan::Plan plan = *test_plan(workload, machine_, "fast-only", "100%");
  const auto synthetic = train::Session::create(workload, machine_, plan, {.validate = true});
  ASSERT_FALSE(synthetic.ok());
  EXPECT_NE(synthetic.error().message.find("no validation split"), std::string::npos) << synthetic.error().message;
}

}  // namespace
}  // namespace sluice::tests
