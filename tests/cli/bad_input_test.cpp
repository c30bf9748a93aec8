// Bad input gets exit code 2 and one clear message on standard error; nothing is lost or left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command_runner.hpp"

namespace sluice {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct BadInput {
  const char* name;
  std::vector<std::string> arguments;
  std::string message;
};

// How bad input ends: exit code 2, the reason on standard error.
void expect_refused(const CommandResult& result, const std::string& message) {
  EXPECT_EQ(result.exit_code, 2) << result.errors;
  EXPECT_THAT(result.errors, AllOf(StartsWith("sluice: "), HasSubstr(message)));
}

class BadInputTest : public ::testing::TestWithParam<BadInput> {};

TEST_P(BadInputTest, IsRefusedWithAClearMessage) {
  const CommandResult result = run_sluice(GetParam().arguments);
  expect_refused(result, GetParam().message);
  EXPECT_EQ(result.output, "");
}

INSTANTIATE_TEST_SUITE_P(
    All, BadInputTest,
    ::testing::Values(
        BadInput{"NoCommand", {}, "subcommand"}, BadInput{"UnknownCommand", {"fly"}, "fly"},
        BadInput{"UnknownOption", {"models", "--fly"}, "--fly"}, BadInput{"NoModel", {"train"}, "model"},
        BadInput{"UnknownModel", {"train", "resnet21"}, "did you mean 'resnet20'"},
        BadInput{"ZeroBatch", {"train", "resnet20", "--batch", "0"}, "batch must be from 1"},
        BadInput{"NegativeBatch", {"train", "resnet20", "--batch", "-4"}, "got -4"},
        BadInput{"BatchNotANumber", {"train", "resnet20", "--batch", "many"}, "many"},
        BadInput{"ZeroImage", {"train", "resnet20", "--image-size", "0"}, "--image-size must be above 0"},
        BadInput{"SmallImage", {"train", "resnet50", "--batch", "1", "--image-size", "8"}, "image size"},
        BadInput{
            "NoSlices", {"train", "resnet20", "--finer-slices", "0"}, "--finer-slices must be from 1 to 64, got 0"},
        BadInput{
            "NoPlanningTime", {"plan", "resnet20", "--planning-time", "0"}, "--planning-time must be above 0, got 0"},
        BadInput{"NegativeClasses", {"train", "resnet20", "--classes", "-1"}, "--classes must be above 0"},
        BadInput{"TooManyThreads", {"train", "resnet20", "--threads", "100000"}, "number of processors"},
        BadInput{"NegativeThreads", {"train", "resnet20", "--threads", "-1"}, "number of processors"},
        BadInput{"UnknownTier", {"train", "resnet20", "--slow", "tape"}, "tape"},
        BadInput{"NoMemoryNode", {"train", "resnet20", "--slow", "numa:one"}, "'numa:one' names no memory node"},
        BadInput{"NoCapacity", {"machine", "--slow", "pcie3:100"}, "--slow pcie3:100: a tier has at least 4.0 KiB"},
        BadInput{"BadCapacity", {"machine", "--slow", "pcie3:much"}, "'much' is not a size"},
        BadInput{"ShareOfNothing", {"machine", "--slow", "pcie3:20%"}, "does not know what everything takes"},
        BadInput{"TierNamedTwice",
                 {"plan", "resnet20", "--slow", "optane:1GiB", "--slow", "optane"},
                 "slow tier 'optane' is named twice"},
        BadInput{"PolicyOfTwoTiers",
                 {"simulate", "resnet20", "--slow", "optane", "--slow", "pmbd", "--planner", "ial"},
                 "policy ial has one slow tier and this machine has 2"},
        BadInput{"SlowTiersFillUp",
                 {"plan", "resnet20", "--batch", "8", "--fast", "50%", "--slow", "optane:64KiB", "--slow", "pcie3:1MiB",
                  "--planner", "sentinel"},
                 "the slow tiers fill up (optane with 64.0 KiB, pcie3 with 1.0 MiB)"},
        BadInput{"UnknownBackend",
                 {"train", "resnet20", "--processors", "device:1,host@abacus:1"},
                 "there is no backend 'abacus'"},
        BadInput{"GpuAmongProcessors",
                 {"train", "resnet20", "--processors", "device@cuda:1,host:1"},
                 "a GPU computes with --gpu, as the only processor"},
        BadInput{"PinnedMemoryWithoutAGpu", {"train", "resnet20", "--slow", "host"}, "add --gpu"},
        BadInput{"OpsThatABackendCannotRun",
                 {"train", "resnet20", "--processors", "device:1,host@reference:1", "--on", "host:backward"},
                 "processor 'host' cannot run"},
        BadInput{"MissingSpillFolder", {"train", "resnet20", "--spill-dir", "/no/such/place"}, "/no/such/place"},
        BadInput{"BadSize", {"plan", "resnet20", "--fast", "lots"}, "'lots' is not a size"},
        BadInput{"ZeroBudget", {"plan", "resnet20", "--fast", "0%"}, "above 0%"},
        BadInput{"NoLossToFindABudgetFor", {"plan", "resnet20", "--fast", "auto:some"}, "'some' is not a percentage"},
        BadInput{"BudgetToFindForLengths", {"train", "lstm", "--sequences", "8-16", "--fast", "auto"}, "no one step"},
        BadInput{"BadBandwidth", {"machine", "--link-bandwidth", "fast"}, "'fast' is not a bandwidth"},
        BadInput{"UnknownPlanner", {"compare", "resnet20", "--planners", "oracle"}, "unknown planner 'oracle'"},
        BadInput{
            "MisspeltSetting",
            {"compare", "resnet20", "--planners", "sentinel:migration=directly"},
            "planner 'sentinel:migration=directly': write sentinel:additions=none, or sentinel:additions=A+B with some "
            "of choice, staying, in-place, ahead, prices, lending, encode; or sentinel:NAME=VALUE with migration one "
            "of direct, intervals, all"},
        BadInput{
            "ZeroStarts", {"compare", "resnet20", "--planners", "sentinel", "--starts", "0"}, "--starts 0: at least"},
        BadInput{"ZeroSteps", {"train", "resnet20", "--steps", "0"}, "--steps must be above 0"},
        BadInput{"ZeroRate", {"train", "resnet20", "--lr", "0"}, "--lr must be above 0"},
        BadInput{"BadSchedule", {"train", "resnet20", "--schedule", "linear"}, "learning-rate schedule 'linear'"},
        BadInput{"EveryWithoutCheckpoint", {"train", "resnet20", "--checkpoint-every", "5"}, "--checkpoint FILE"},
        BadInput{"ModelAndOnnx", {"train", "resnet20", "--onnx", SLUICE_COMMAND}, "either a built-in model"},
        BadInput{"MissingOnnx", {"train", "--onnx", "/no/model.onnx"}, "/no/model.onnx"},
        BadInput{"NotOnnx", {"train", "--onnx", SLUICE_COMMAND}, "sluice"},
        BadInput{"ExportWithoutOnnx", {"train", "resnet20", "--export-onnx", "out.onnx"}, "needs --onnx FILE"},
        BadInput{"UnknownLoss", {"train", "resnet20", "--loss", "hinge"}, "unknown loss 'hinge'"},
        BadInput{"UnknownOptimizer", {"train", "resnet20", "--optimizer", "lamb"}, "unknown optimizer 'lamb'"},
        BadInput{"BetaOfOne", {"train", "resnet20", "--optimizer", "adam", "--beta2", "1"}, "--beta2 from 0"},
        BadInput{"NegativeDecay", {"train", "resnet20", "--weight-decay", "-1"}, "sgd takes --weight-decay from 0"},
        BadInput{"LossScaleOfThree",
                 {"train", "resnet20", "--precision", "fp16-masters", "--loss-scale", "3"},
                 "--loss-scale must be a power of two from 1 to"},
        BadInput{"LossScaleOfFp32", {"train", "resnet20", "--loss-scale", "1024"}, "--precision fp16-masters"},
        BadInput{"NegativeNorm", {"train", "resnet20", "--clip-norm", "-1"}, "--clip-norm must be from 0"},
        BadInput{"DelayWithTwoLosses",
                 {"train", "dcgan", "--image-size", "32", "--delay-updates"},
                 "dcgan reads parameters again that it has updated"},
        BadInput{"DelayWithSequences",
                 {"train", "lstm", "--sequences", "20,25", "--delay-updates"},
                 "--delay-updates keeps gradients of one graph"},
        BadInput{"GradientsOfADelayedStep",
                 {"gradients", "resnet20", "--delay-updates", "-o", "out"},
                 "leave out --delay-updates"},
        BadInput{"GradientsAccumulated",
                 {"gradients", "resnet20", "--accumulate", "2", "-o", "out"},
                 "leave out --delay-updates, --accumulate"},
        BadInput{"NoBatch", {"train", "resnet20", "--accumulate", "0"}, "--accumulate must be from 1 to 256, got 0"},
        BadInput{"AccumulatedGan",
                 {"train", "dcgan", "--image-size", "32", "--accumulate", "2"},
                 "--accumulate: a step of dcgan reads parameters again"},
        BadInput{"HostWithoutFastMemory",
                 {"plan", "resnet20", "--batch", "2", "--slow", "pcie3", "--processors", "device:1,host:1:pcie3",
                  "--on", "host:update", "--planner", "sentinel"},
                 "processor 'host', which cannot use tier dram in place"},
        BadInput{"OptimizerOnNoHost",
                 {"plan", "resnet20", "--planner", "zero-offload", "--fast", "50%"},
                 "--processors device:1:dram,host:1:pcie3"},
        BadInput{"StatesThatPassThroughNoMemory",  // whose size --estimate keeps
                 {"plan",
                  "gpt2_small",
                  "--batch",
                  "2",
                  "--sequence",
                  "32",
                  "--classes",
                  "200",
                  "--width",
                  "64",
                  "--depth",
                  "2",
                  "--optimizer",
                  "adamw",
                  "--precision",
                  "bf16-masters",
                  "--estimate",
                  "--slow",
                  "pcie3:400KiB",
                  "--slow",
                  "file",
                  "--processors",
                  "device:1,host:1:pcie3",
                  "--planner",
                  "zero-offload"},
                 "of the optimizer's states in the host's memory at one time"},
        BadInput{"UnknownPrecision", {"train", "resnet20", "--precision", "fp8"}, "unknown precision 'fp8'"},
        BadInput{"DropoutOfOne", {"train", "bert_base", "--dropout", "1"}, "--dropout must be from 0 to below 1"},
        BadInput{"ZeroSequence", {"train", "bert_base", "--sequence", "0"}, "--sequence must be above 0"},
        BadInput{"SequencesOfImages", {"train", "resnet20", "--sequences", "20,25"}, "has no option 'sequence'"},
        BadInput{"ZeroAmongSequences", {"train", "lstm", "--sequences", "20,0"}, "'0' is no size above 0"},
        BadInput{"NoSequences", {"train", "lstm", "--sequences", ","}, "'' is no size above 0"},
        BadInput{"SequenceTwice", {"train", "lstm", "--sequences", "20,25,20"}, "20 is in it twice"},
        BadInput{"SequenceAndSequences",
                 {"train", "lstm", "--sequence", "20", "--sequences", "20,25"},
                 "exclude each other"},
        BadInput{"TraceOfSequences", {"train", "lstm", "--sequences", "20,25", "--trace", "t"}, "--trace is about one"},
        BadInput{"CheckpointOfSequences",
                 {"train", "lstm", "--sequences", "20,25", "--checkpoint", "c"},
                 "have no checkpoints"},
        BadInput{"ZeroWidth", {"train", "bert_base", "--width", "0"}, "--width must be above 0"},
        BadInput{"NegativeDepth", {"train", "bert_base", "--depth", "-1"}, "--depth must be above 0"},
        BadInput{"ImageSizeOfText", {"train", "bert_base", "--image-size", "32"}, "image size"},
        BadInput{"NegativeValidation", {"train", "resnet20", "--validate-every", "-1"}, "must not be negative"},
        BadInput{"ValidationAndNone",
                 {"train", "resnet20", "--validate-every", "1", "--no-validation"},
                 "exclude each other"},
        BadInput{"GradientsToNowhere", {"gradients", "resnet20"}, "--output"},
        BadInput{"MissingPlan", {"verify", "/no/plan.json", "resnet20"}, "/no/plan.json"}),
    [](const auto& instance) { return std::string(instance.param.name); });

// Inputs that need a model to be planned first; the smallest one that exists.
class BadFileTest : public ::testing::Test {
 protected:
  static CommandResult run(std::vector<std::string> command, const std::vector<std::string>& more = {}) {
    command.insert(command.end(), {"--batch", "2", "--threads", "1"});
    command.insert(command.end(), more.begin(), more.end());
    return run_sluice(command);
  }
  static CommandResult verify(const std::string& plan, const std::vector<std::string>& more = {}) {
    return run({"verify", plan, "resnet20"}, more);
  }
  static CommandResult train(const std::string& plan, const std::vector<std::string>& more = {}) {
    return run({"train", "resnet20", "--plan", plan}, more);
  }
  static void expect_broken(const CommandResult& verified, const std::string& rule) {
    EXPECT_EQ(verified.exit_code, 1) << verified.errors;
    EXPECT_THAT(verified.output, HasSubstr(rule + ": "));
  }
  std::string make_plan() {
    const std::string plan = folder_.file("plan.json");
    const CommandResult result = run({"plan", "resnet20"}, {"--fast", "60%", "-o", plan});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return plan;
  }

  TemporaryFolder folder_;
};

TEST_F(BadFileTest, PlanCutShort) {
  const std::string plan = make_plan();
  std::filesystem::resize_file(plan, std::filesystem::file_size(plan) / 2);
  expect_refused(verify(plan), "plan.json");
  expect_refused(train(plan), "plan.json");
}

TEST_F(BadFileTest, PlanOfAnotherModel) {
  const std::string plan = make_plan();
  expect_broken(run({"verify", plan, "plain20"}), "graph-matches");
  expect_refused(run({"train", "plain20", "--plan", plan}), "graph-matches: ");
}

TEST_F(BadFileTest, PlanOfAnotherMachine) {
  expect_broken(verify(make_plan(), {"--slow", "optane"}), "machine-matches");
}

TEST_F(BadFileTest, PlanEditedByHandNamesTheRule) {
  const std::string plan = make_plan();
  EXPECT_EQ(verify(plan).exit_code, 0);
  nlohmann::json document = nlohmann::json::parse(read_text(plan));
  document["budgets"][0] = 4096;
  std::ofstream(plan) << document;
  expect_broken(verify(plan), "within-budget");
}

// The schedule of a planner that recomputes, broken in every way that a list of ops can be.
TEST_F(BadFileTest, ScheduleEditedByHandNamesTheRule) {
  const std::string plan = folder_.file("plan.json");
  ASSERT_EQ(run({"plan", "resnet20"}, {"--fast", "100%", "--planner", "chen-sqrt", "-o", plan}).exit_code, 0);
  EXPECT_EQ(verify(plan).exit_code, 0);
  const nlohmann::json whole = nlohmann::json::parse(read_text(plan));
  const auto expect_broken_by = [&](const auto& edit, const std::string& rule) {
    nlohmann::json document = whole;
    edit(document["schedule"]);
    std::ofstream(plan) << document;
    expect_broken(verify(plan), rule);
    expect_refused(train(plan), rule + ": ");
  };
  const auto last = [](const nlohmann::json& schedule) { return schedule.back().get<int>(); };
  // Its last op is an update: done twice, left out, too early.
  expect_broken_by([&](auto& schedule) { schedule[schedule.size() - 2] = last(schedule); }, "same-values");
  expect_broken_by([&](auto& schedule) { schedule.back() = 0; }, "same-values");
  expect_broken_by([&](auto& schedule) { std::swap(schedule.front(), schedule.back()); }, "same-values");
  expect_broken_by([&](auto& schedule) { schedule.push_back(last(schedule)); }, "well-formed");
  expect_broken_by([&](auto& schedule) { schedule[0] = 1'000'000; }, "well-formed");
  expect_broken_by([&](auto& schedule) { schedule = std::vector<int>(1'000'000, 0); }, "well-formed");
  expect_broken_by([&](auto& schedule) { schedule[0] = -1; }, "well-formed");
}

// The labels are integers; whatever lies in the file then has no such encoding, and a version before 5 knows none.
TEST_F(BadFileTest, EncodingThatTheTensorDoesNotAllowNamesTheRule) {
  const std::string plan = make_plan();
  nlohmann::json document = nlohmann::json::parse(read_text(plan));
  for (auto& residency : document["residencies"]) {
    if (residency["name"] == "input.labels") residency["encoding"] = "zero-value";
  }
  std::ofstream(plan) << document;
  expect_broken(verify(plan), "encoding-allowed");
  EXPECT_THAT(verify(plan).output, HasSubstr("its elements are i32: the encoding is for f32, bf16 and f16"));
  expect_refused(train(plan), "encoding-allowed: ");
  document.erase("stitches");
  document["version"] = 4;
  std::ofstream(plan) << document;
  expect_refused(train(plan), "version 4 has no encodings: plan again");
}

TEST_F(BadFileTest, ScheduleInAnOlderPlanIsRefused) {
  const std::string plan = folder_.file("plan.json");
  ASSERT_EQ(run({"plan", "resnet20"}, {"--fast", "100%", "--planner", "chen-sqrt", "-o", plan}).exit_code, 0);
  nlohmann::json document = nlohmann::json::parse(read_text(plan));
  document["version"] = 3;
  std::ofstream(plan) << document;
  expect_refused(train(plan), "version 3 has no schedules: plan again");
}

TEST_F(BadFileTest, BudgetTooSmallSaysTheSmallest) {
  expect_refused(run({"plan", "resnet20", "--fast", "64KiB"}), "the smallest budget it can use is");
}

TEST_F(BadFileTest, TruncatedCifar) {
  for (int file = 1; file <= 5; ++file) {
    std::ofstream(folder_.file("data_batch_" + std::to_string(file) + ".bin")) << "short";
  }
  expect_refused(train(make_plan(), {"--data", "cifar10:" + folder_.path().string()}),
                 "data_batch_1.bin has 5 bytes where 30730000");
}

TEST_F(BadFileTest, DataOfAnotherKind) {
  const std::string plan = make_plan();
  const std::string folder = folder_.path().string();
  expect_refused(train(plan, {"--data", "imagenet"}), "unknown data 'imagenet'");
  expect_refused(train(plan, {"--data", "mnist:" + folder}), "train-images-idx3-ubyte: No such file");
  std::ofstream(folder_.file("train-images-idx3-ubyte")) << "short";
  std::ofstream(folder_.file("train-labels-idx1-ubyte")) << "short";
  expect_refused(train(plan, {"--data", "mnist:" + folder}), "has 5 bytes where its header alone has 16");
  expect_refused(train(plan, {"--data", "tokens:" + folder}), "take a language model");
  expect_refused(train(plan, {"--data", "synthetic", "--validate-every", "1"}), "no validation split");
}

TEST_F(BadFileTest, CheckpointCutShortOrOfAnotherRun) {
  const std::string plan = make_plan();
  const std::string checkpoint = folder_.file("run.ckpt");
  ASSERT_EQ(train(plan, {"--steps", "2", "--checkpoint", checkpoint}).exit_code, 0);
  const std::vector<std::string> resume = {"--steps", "2", "--resume", checkpoint};
  expect_refused(train(plan, resume), "already holds 2 steps");
  std::vector<std::string> other_seed = resume;
  other_seed.insert(other_seed.end(), {"--seed", "2"});
  expect_refused(train(plan, other_seed), "its seed is 1, this run's is 2");
  std::filesystem::resize_file(checkpoint, std::filesystem::file_size(checkpoint) - 1000);
  expect_refused(train(plan, resume), "run.ckpt: its checksum does not match");
}

TEST_F(BadFileTest, OutputThatCannotBeWritten) {
  const CommandResult result = run_sluice({"models", "--json", "/no/such/folder/models.json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.errors, HasSubstr("/no/such/folder/models.json: No such file"));
}

}  // namespace
}  // namespace sluice
