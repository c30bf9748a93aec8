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

class BadInputTest : public ::testing::TestWithParam<BadInput> {};

TEST_P(BadInputTest, IsRefusedWithAClearMessage) {
  const CommandResult result = run_sluice(GetParam().arguments);
  EXPECT_EQ(result.exit_code, 2) << result.errors;
  EXPECT_THAT(result.errors, AllOf(StartsWith("sluice: "), HasSubstr(GetParam().message)));
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
        BadInput{"NegativeClasses", {"train", "resnet20", "--classes", "-1"}, "--classes must be above 0"},
        BadInput{"TooManyThreads", {"train", "resnet20", "--threads", "100000"}, "number of processors"},
        BadInput{"NegativeThreads", {"train", "resnet20", "--threads", "-1"}, "number of processors"},
        BadInput{"UnknownTier", {"train", "resnet20", "--slow", "tape"}, "tape"},
        BadInput{"MissingSpillFolder", {"train", "resnet20", "--spill-dir", "/no/such/place"}, "/no/such/place"},
        BadInput{"BadSize", {"plan", "resnet20", "--fast", "lots"}, "'lots' is not a size"},
        BadInput{"ZeroBudget", {"plan", "resnet20", "--fast", "0%"}, "above 0%"},
        BadInput{"BadBandwidth", {"machine", "--link-bandwidth", "fast"}, "'fast' is not a bandwidth"},
        BadInput{"UnknownPlanner", {"compare", "resnet20", "--planners", "oracle"}, "unknown planner 'oracle'"},
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
        BadInput{"NegativeDecay", {"train", "resnet20", "--weight-decay", "-1"}, "must not be negative"},
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
  static std::vector<std::string> with(std::vector<std::string> arguments, const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), {"--batch", "2", "--threads", "1"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::string make_plan() {
    const std::string plan = folder_.file("plan.json");
    const CommandResult result = run_sluice(with({"plan", "resnet20"}, {"--fast", "60%", "-o", plan}));
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return plan;
  }

  TemporaryFolder folder_;
};

TEST_F(BadFileTest, PlanCutShort) {
  const std::string plan = make_plan();
  std::filesystem::resize_file(plan, std::filesystem::file_size(plan) / 2);
  for (const auto& command : {with({"verify", plan, "resnet20"}, {}), with({"train", "resnet20"}, {"--plan", plan})}) {
    const CommandResult result = run_sluice(command);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.errors, HasSubstr("plan.json"));
  }
}

TEST_F(BadFileTest, PlanOfAnotherModel) {
  const std::string plan = make_plan();
  const CommandResult verified = run_sluice(with({"verify", plan, "plain20"}, {}));
  EXPECT_EQ(verified.exit_code, 1);
  EXPECT_THAT(verified.output, HasSubstr("graph-matches: "));
  const CommandResult trained = run_sluice(with({"train", "plain20"}, {"--plan", plan}));
  EXPECT_EQ(trained.exit_code, 2);
  EXPECT_THAT(trained.errors, HasSubstr("graph-matches: "));
}

TEST_F(BadFileTest, PlanOfAnotherMachine) {
  const CommandResult result = run_sluice(with({"verify", make_plan(), "resnet20"}, {"--slow", "optane"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("machine-matches: "));
}

TEST_F(BadFileTest, PlanEditedByHandNamesTheRule) {
  const std::string plan = make_plan();
  EXPECT_EQ(run_sluice(with({"verify", plan, "resnet20"}, {})).exit_code, 0);
  nlohmann::json document = nlohmann::json::parse(read_text(plan));
  document["budgets"][0] = 4096;
  std::ofstream(plan) << document;
  const CommandResult result = run_sluice(with({"verify", plan, "resnet20"}, {}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("within-budget: "));
}

TEST_F(BadFileTest, BudgetTooSmallSaysTheSmallest) {
  const CommandResult result = run_sluice(with({"plan", "resnet20"}, {"--fast", "64KiB"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("the smallest budget it can use is"));
}

TEST_F(BadFileTest, TruncatedCifar) {
  for (int file = 1; file <= 5; ++file) {
    std::ofstream(folder_.file("data_batch_" + std::to_string(file) + ".bin")) << "short";
  }
  const CommandResult result =
      run_sluice(with({"train", "resnet20"}, {"--plan", make_plan(), "--data", "cifar10:" + folder_.path().string()}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("data_batch_1.bin has 5 bytes where 30730000"));
}

TEST_F(BadFileTest, DataOfAnotherKind) {
  const std::string plan = make_plan();
  const auto train = [&](const std::string& data, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = with({"train", "resnet20"}, {"--plan", plan, "--data", data});
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CommandResult result = run_sluice(arguments);
    EXPECT_EQ(result.exit_code, 2) << data;
    return result.errors;
  };
  EXPECT_THAT(train("imagenet"), HasSubstr("unknown data 'imagenet'"));
  EXPECT_THAT(train("mnist:" + folder_.path().string()), HasSubstr("train-images-idx3-ubyte: No such file"));
  std::ofstream(folder_.file("train-images-idx3-ubyte")) << "short";
  std::ofstream(folder_.file("train-labels-idx1-ubyte")) << "short";
  EXPECT_THAT(train("mnist:" + folder_.path().string()), HasSubstr("has 5 bytes where its header alone has 16"));
  EXPECT_THAT(train("tokens:" + folder_.path().string()), HasSubstr("take a language model"));
  EXPECT_THAT(train("synthetic", {"--validate-every", "1"}), HasSubstr("no validation split"));
}

TEST_F(BadFileTest, CheckpointCutShortOrOfAnotherRun) {
  const std::string plan = make_plan();
  const std::string checkpoint = folder_.file("run.ckpt");
  const auto train = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = with({"train", "resnet20"}, {"--plan", plan, "--steps", "2"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_sluice(arguments);
  };
  ASSERT_EQ(train({"--checkpoint", checkpoint}).exit_code, 0);
  const CommandResult done = train({"--resume", checkpoint});
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_THAT(done.errors, HasSubstr("already holds 2 steps"));
  const CommandResult other = train({"--resume", checkpoint, "--seed", "2"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.errors, HasSubstr("its seed is 1, this run's is 2"));
  std::filesystem::resize_file(checkpoint, std::filesystem::file_size(checkpoint) - 1000);
  const CommandResult cut = train({"--resume", checkpoint});
  EXPECT_EQ(cut.exit_code, 2);
  EXPECT_THAT(cut.errors, HasSubstr("run.ckpt: its checksum does not match"));
}

TEST_F(BadFileTest, OutputThatCannotBeWritten) {
  const CommandResult result = run_sluice({"models", "--json", "/no/such/folder/models.json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.errors, HasSubstr("/no/such/folder/models.json: No such file"));
}

}  // namespace
}  // namespace sluice
