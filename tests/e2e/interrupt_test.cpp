// Ctrl-C during training: the step is finished, the checkpoint is whole, and no spill file stays behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command_runner.hpp"

namespace sluice::tests {
namespace {

using ::testing::HasSubstr;

TEST(InterruptTest, LeavesASaneCheckpointAndNoSpillFile) {
  const TemporaryFolder folder;
  const TemporaryFolder spill;
  const std::string checkpoint = folder.file("run.ckpt");
  const std::vector<std::string> common{"train", "resnet20", "--batch", "4",           "--threads",
                                        "1",     "--fast",   "50%",     "--spill-dir", spill.path().string()};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = common;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  const CommandResult stopped =
      interrupt_sluice(with({"--steps", "100000", "--checkpoint", checkpoint}), "step      1");
  EXPECT_EQ(stopped.exit_code, 130) << stopped.errors;
  EXPECT_THAT(stopped.output, HasSubstr("interrupted before step"));
  EXPECT_TRUE(std::filesystem::is_empty(spill.path()));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_EQ(entry.path(), checkpoint) << "nothing half-written stays";
  }
  const auto at = stopped.output.find("interrupted before step ") + std::string("interrupted before step ").size();
  const int next_step = std::stoi(stopped.output.substr(at)) - 1;
  const std::string steps = std::to_string(next_step + 2);
  const CommandResult resumed =
      run_sluice(with({"--steps", steps, "--resume", checkpoint, "--json", folder.file("resumed.json")}));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.errors;
  const CommandResult straight = run_sluice(with({"--steps", steps, "--json", folder.file("straight.json")}));
  ASSERT_EQ(straight.exit_code, 0) << straight.errors;
  const auto hash = [&](const char* name) {
    return nlohmann::json::parse(read_text(folder.file(name))).at("parameter_hash").get<std::string>();
  };
  EXPECT_EQ(hash("resumed.json"), hash("straight.json"));
}

}  // namespace
}  // namespace sluice::tests
