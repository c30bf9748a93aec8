// `sluice gradients`: what it writes is what a step of plain SGD subtracts from the parameters.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sluice/experiment/gradient_dump.hpp"
#include "tests/cli/command_runner.hpp"
#include "tests/e2e/tiny_onnx.hpp"
#include "tests/e2e/trained_run.hpp"

namespace sluice::tests {
namespace {

std::vector<float> read_floats(const std::string& path) {
  const std::string bytes = read_text(path);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

std::int64_t product(const nlohmann::json& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  return elements;
}

// One step at rate 1 without momentum and decay takes the gradient from every parameter.
void expect_gradients_move_parameters(train::WorkloadOptions options) {
  options.optimizer = {.momentum = 0, .weight_decay = 0};
  train::Workload workload = test_workload(options);
  const TemporaryFolder folder;
  const Status dumped =
      experiment::dump_gradients(workload, {}, {.folder = folder.path(), .parameters = {}, .learning_rate = 1});
  ASSERT_TRUE(dumped.ok()) << dumped.error().message;
  const nlohmann::json manifest = nlohmann::json::parse(read_text(folder.file("manifest.json")));

  const memory::Machine machine = test_machine(1, {"file"});
  auto session = train::Session::create(workload, machine, *test_plan(workload, machine, "fast-only", "100%"), {});
  ASSERT_TRUE(session.ok()) << session.error().message;
  const auto outcome = (*session)->run_step(0, 1);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_FLOAT_EQ(outcome->loss, manifest["loss"].get<float>());
  for (const nlohmann::json& entry : manifest["parameters"]) {
    SCOPED_TRACE(entry.dump());
    const std::vector<float> before = read_floats(folder.file(entry["file"]));
    const std::vector<float> gradient = read_floats(folder.file(entry["gradient"]));
    const std::vector<float> after =
        train::read_whole((*session)->parameters(), {entry["name"].get<std::string>()}).value();
    ASSERT_EQ(static_cast<std::int64_t>(before.size()), product(entry["shape"]));
    ASSERT_EQ(gradient.size(), before.size());
    ASSERT_EQ(after.size(), before.size());
    for (std::size_t i = 0; i < before.size(); ++i) ASSERT_EQ(before[i] - gradient[i], after[i]) << "element " << i;
  }
}

TEST(GradientsTest, OfConvolutionsAndNorms) {
  expect_gradients_move_parameters({.model = "resnet20", .shape = {.batch = 2}});
}

TEST(GradientsTest, OfSlicedWeights) {
  const models::ModelOptions shape{
      .batch = 2, .classes = 20'000, .sequence = 4, .width = 256, .depth = 1, .dropout = 0.5F};
  expect_gradients_move_parameters({.model = "lstm", .shape = shape});
}

// A whole parameter may be called as a slice of ours would be.
TEST(GradientsTest, OfParametersWithBracketsInTheirNames) {
  const TemporaryFolder folder;
  write_tiny_onnx(folder.file("odd.onnx"), tiny_onnx_values(), {"conv[0:4]", "conv"});
  expect_gradients_move_parameters({.onnx = folder.file("odd.onnx"), .shape = {.batch = 2}});
}

TEST(GradientsTest, InputsAreWritten) {
  train::Workload workload = test_workload(
      {.model = "bert_base", .shape = {.batch = 2, .classes = 50, .sequence = 8, .width = 64, .depth = 1}});
  const TemporaryFolder folder;
  ASSERT_TRUE(experiment::dump_gradients(workload, {},
                                         {.folder = folder.path() / "new", .parameters = {}, .learning_rate = 0.1F})
                  .ok());
  const nlohmann::json manifest = nlohmann::json::parse(read_text(folder.file("new/manifest.json")));
  ASSERT_EQ(manifest["inputs"].size(), 3U);
  for (const nlohmann::json& input : manifest["inputs"]) {
    EXPECT_EQ(input["dtype"], "int32");
    EXPECT_EQ(read_text(folder.file("new/" + input["file"].get<std::string>())).size(), 2U * 8 * 4);
  }
  EXPECT_FLOAT_EQ(manifest["settings"]["learning_rate"].get<float>(), 0.1F);
}

}  // namespace
}  // namespace sluice::tests
