// A run that is killed at any moment goes on from its last checkpoint, and ends with the bits of one that never was.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <random>
#include <thread>

#include "sluice/base/json_file.hpp"
#include "tests/cli/command_runner.hpp"

namespace sluice::tests {
namespace {

constexpr int kKills = 20;
constexpr unsigned kKillSeed = 20;

// What ZeRO-Offload's users run: masters, clipping, a delayed update in flight, the optimizer on the host.
std::vector<std::string> training(const std::string& checkpoint, const std::string& json, std::int64_t steps) {
  return {"train",
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
          "--clip-norm",
          "1",
          "--precision",
          "bf16-masters",
          "--accumulate",
          "2",
          "--planner",
          "fast-only",
          "--delay-updates",
          "--threads",
          "1",
          "--steps",
          std::to_string(steps),
          "--checkpoint",
          checkpoint,
          "--checkpoint-every",
          "1",
          "--json",
          json};
}

std::string hash_in(const std::string& json) { return read_json_file(json).value()["parameter_hash"]; }

std::vector<std::string> resumed(std::vector<std::string> arguments, const std::string& checkpoint) {
  if (std::filesystem::exists(checkpoint)) arguments.insert(arguments.end(), {"--resume", checkpoint});
  return arguments;
}

TEST(Killed, AtTwentyMomentsEndsWithTheSameBits) {
  const TemporaryFolder folder;
  const std::string whole = folder.file("whole.json"), file = folder.file("run.ckpt"), json = folder.file("run.json");
  const std::string output = folder.file("out"), errors = folder.file("err");
  constexpr std::int64_t kSteps = 150;
  ASSERT_EQ(run_sluice(training(folder.file("whole.ckpt"), whole, kSteps)).exit_code, 0);
  std::mt19937 random(kKillSeed);
  int killed = 0, ended = 0;
  const auto check_ended = [&](const CommandResult& result) {
    const bool killed_behind_the_end = result.errors.find("already holds") != std::string::npos;
    EXPECT_TRUE(result.exit_code == 0 || killed_behind_the_end) << result.errors;
    if (result.exit_code == 0) {
      EXPECT_EQ(hash_in(json), hash_in(whole)) << "seed " << kKillSeed << ", after " << killed << " kills";
    }
    ended += result.exit_code == 0 ? 1 : 0;
    std::filesystem::remove(file);  // the next one begins anew
  };
  for (int attempt = 0; attempt < 10 * kKills && killed < kKills; ++attempt) {
    const pid_t process = start_sluice(resumed(training(file, json, kSteps), file), output, errors);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 400));
    ::kill(process, SIGKILL);
    const CommandResult result = collect_sluice(process, output, errors);
    result.exit_code == 128 + SIGKILL ? static_cast<void>(++killed) : check_ended(result);
  }
  EXPECT_EQ(killed, kKills);
  while (ended == 0) check_ended(run_sluice(resumed(training(file, json, kSteps), file)));
}

}  // namespace
}  // namespace sluice::tests
