// An ONNX file is trained from its own weights under several plans to the same bits, and written back: the copy holds
// the trained weights, and training goes on from them.
#include <gtest/gtest.h>

#include "sluice/train/workload/onnx_workload.hpp"
#include "tests/cli/command_runner.hpp"
#include "tests/e2e/tiny_onnx.hpp"
#include "tests/e2e/trained_run.hpp"

namespace sluice::tests {
namespace {

class OnnxTest : public ::testing::Test {
 protected:
  OnnxTest() { write_tiny_onnx(file_, tiny_onnx_values()); }

  train::WorkloadOptions options(const std::string& file) const { return {.onnx = file, .shape = {.batch = 8}}; }

  TemporaryFolder folder_;
  const std::string file_ = folder_.file("tiny.onnx");
  const memory::Machine machine_ = test_machine(1, {"file"});
};

TEST_F(OnnxTest, StartsWithTheWeightsOfTheFile) {
  train::Workload workload = test_workload(options(file_));
  auto session = train::Session::create(workload, machine_, *test_plan(workload, machine_, "fast-only", "100%"), {});
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_EQ(workload.values, nullptr) << "they are not kept beside the parameters";
  const TinyOnnx expected = tiny_onnx_values();
  EXPECT_EQ(train::read_whole((*session)->parameters(), {"conv.weight"}).value(), expected.conv_weight);
  EXPECT_EQ(train::read_whole((*session)->parameters(), {"fc.weight"}).value(), expected.fc_weight);
  EXPECT_EQ(train::read_whole((*session)->parameters(), {"fc.bias"}).value(), expected.fc_bias);
}

TEST_F(OnnxTest, LearnsToTheSameBitsUnderEveryPlan) {
  train::Workload workload = test_workload(options(file_));
  const plan::Plan whole = *test_plan(workload, machine_, "fast-only", "100%");
  const TrainedRun expected = train(workload, machine_, whole, 30, 0.1F);
  EXPECT_LT(expected.losses.back(), 0.8F * expected.losses.front());
  for (const std::string planner : {"on-demand", "sentinel"}) {
    const auto plan = test_plan(workload, machine_, planner, "80%");
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(train(workload, machine_, *plan, 30, 0.1F).parameter_hash, expected.parameter_hash) << planner;
  }
}

TEST_F(OnnxTest, TrainedWeightsComeBackAsOnnx) {
  const std::string trained = folder_.file("trained.onnx");
  train::Workload workload = test_workload(options(file_));
  auto session = train::Session::create(workload, machine_, *test_plan(workload, machine_, "fast-only", "100%"), {});
  ASSERT_TRUE(session.ok()) << session.error().message;
  for (std::int64_t step = 0; step < 3; ++step) ASSERT_TRUE((*session)->run_step(step, 0.1F).ok());
  const Status written = train::write_onnx_workload(workload.options, trained, (*session)->parameters());
  ASSERT_TRUE(written.ok()) << written.error().message;
  train::Workload again = test_workload(options(trained));
  auto next = train::Session::create(again, machine_, *test_plan(again, machine_, "fast-only", "100%"), {});
  ASSERT_TRUE(next.ok()) << next.error().message;
  for (const char* name : {"conv.weight", "conv.bias", "fc.weight", "fc.bias"}) {
    const std::vector<float> expected = train::read_whole((*session)->parameters(), {name}).value();
    EXPECT_EQ(train::read_whole((*next)->parameters(), {name}).value(), expected) << name;
  }
  EXPECT_NE(train::read_whole((*next)->parameters(), {"fc.weight"}).value(), tiny_onnx_values().fc_weight);
}

// Names that a slice, a master, or a loss of ours could have.
TEST_F(OnnxTest, NamesMeanNothing) {
  const std::string odd = folder_.file("odd.onnx"), trained = folder_.file("trained.onnx");
  for (const TinyNames& names : {TinyNames{"conv[0:4]", "conv"}, TinyNames{"conv[x", "loss"}}) {
    write_tiny_onnx(odd, tiny_onnx_values(), names);
    train::Workload workload = test_workload(options(odd)), plain = test_workload(options(file_));
    const plan::Plan plan = *test_plan(workload, machine_, "fast-only", "100%");
    auto session = train::Session::create(workload, machine_, plan, {}),
         expected = train::Session::create(plain, machine_, plan, {});
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_EQ((*session)->run_step(0, 0.1F)->loss, (*expected)->run_step(0, 0.1F)->loss);
    const Status written = train::write_onnx_workload(workload.options, trained, (*session)->parameters());
    ASSERT_TRUE(written.ok()) << written.error().message;
    train::Workload again = test_workload(options(trained));
    auto next = train::Session::create(again, machine_, plan, {});
    ASSERT_TRUE(next.ok()) << next.error().message;
    const std::vector<float> conv = train::read_whole((*expected)->parameters(), {"conv.weight"}).value();
    EXPECT_EQ(train::read_whole((*next)->parameters(), {names.conv_weight}).value(), conv) << names.conv_weight;
    const std::vector<float> fc = train::read_whole((*expected)->parameters(), {"fc.weight"}).value();
    EXPECT_EQ(train::read_whole((*next)->parameters(), {names.fc_weight}).value(), fc) << names.fc_weight;
  }
}

TEST_F(OnnxTest, CommandTrainsExportsAndTrainsOn) {
  const std::string trained = folder_.file("trained.onnx");
  const CommandResult first = run_sluice(
      {"train", "--onnx", file_, "--batch", "8", "--threads", "1", "--steps", "2", "--export-onnx", trained});
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  const CommandResult second =
      run_sluice({"train", "--onnx", trained, "--batch", "8", "--threads", "1", "--steps", "2", "--fast", "90%"});
  EXPECT_EQ(second.exit_code, 0) << second.errors;
}

TEST_F(OnnxTest, TakesOnlyBatchAndSequence) {
  train::WorkloadOptions wrong = options(file_);
  wrong.shape.classes = 10;
  const auto workload = train::build_workload(wrong);
  ASSERT_FALSE(workload.ok());
  EXPECT_NE(workload.error().message.find("only the batch"), std::string::npos) << workload.error().message;
}

}  // namespace
}  // namespace sluice::tests
