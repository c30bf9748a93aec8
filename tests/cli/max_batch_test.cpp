// sluice max-batch: what it says fits does, and one more sample does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command_runner.hpp"

namespace sluice {
namespace {

using ::testing::HasSubstr;

nlohmann::json max_batch_json(const std::string& planner, const std::string& fast) {
  const std::string file = ::testing::TempDir() + "max_batch_" + planner + ".json";
  const CommandResult result =
      run_sluice({"max-batch", "resnet20", "--threads", "1", "--fast", fast, "--planner", planner, "--json", file});
  EXPECT_EQ(result.exit_code, 0) << result.output << result.errors;
  return nlohmann::json::parse(std::ifstream(file));
}

TEST(MaxBatchTest, MovingPlannersTrainLargerBatchesThanFastMemoryAlone) {
  const nlohmann::json alone = max_batch_json("fast-only", "24MiB");
  const nlohmann::json moving = max_batch_json("sentinel", "24MiB");
  EXPECT_GE(moving["batch"].get<int>(), 2 * alone["batch"].get<int>());
  EXPECT_LE(alone["everything_bytes"].get<std::int64_t>(), 24 << 20);
  EXPECT_GT(moving["everything_bytes"].get<std::int64_t>(), 24 << 20);
  for (const nlohmann::json& trial : moving["trials"]) {
    EXPECT_EQ(trial["fits"].get<bool>(), trial["batch"].get<int>() <= moving["batch"].get<int>());
  }
  EXPECT_GT(moving["predicted_samples_per_second"].get<double>(), 0);
}

TEST(MaxBatchTest, ConfirmsByRunning) {
  const CommandResult result = run_sluice(
      {"max-batch", "resnet20", "--threads", "1", "--fast", "12MiB", "--planner", "sentinel", "--run", "--steps", "2"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("executed: "));
}

TEST(MaxBatchTest, SaysWhyNotEvenOneSampleFits) {
  const CommandResult result = run_sluice({"max-batch", "resnet20", "--threads", "1", "--fast", "256KiB"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.errors, HasSubstr("cannot train a single sample in 256.0 KiB"));
}

}  // namespace
}  // namespace sluice
