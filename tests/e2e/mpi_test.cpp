// `mpirun -n N sluice train`: the same bits as one process, and no rank that waits for ever for one that is gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "sluice/base/json_file.hpp"
#include "tests/cli/command_runner.hpp"

namespace sluice::tests {
namespace {

using ::testing::HasSubstr;

const std::string kTraining =
    " train gpt2_small --batch 1 --sequence 32 --classes 200 --width 64 --depth 2 --optimizer adamw --threads 1"
    " --planner fast-only --cache-dir " SLUICE_TEST_CACHE;

struct Ended {
  int exit_code = 0;
  std::string output;  // and errors
};

Ended run_shell(const std::string& command) {
  const TemporaryFolder folder;
  const std::string file = folder.file("output");
  const int status = std::system(("( " + command + " ) > " + file + " 2>&1").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_text(file)};
}

// Kills one process of a command that has `argument` among its own, and is not the launcher.
bool kill_one_with(const std::string& argument) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string line = read_text((entry.path() / "cmdline").string());  // arguments, each ended by a zero
    if (line.starts_with(SLUICE_COMMAND) && line.find(argument) != std::string::npos) {
      return ::kill(static_cast<pid_t>(std::stoi(name)), SIGKILL) == 0;
    }
  }
  return false;
}

class Mpi : public ::testing::Test {
 protected:
  void SetUp() override {
    if (run_shell("mpirun --version").exit_code != 0) GTEST_SKIP() << "there is no mpirun (Debian: openmpi-bin)";
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  }

  static std::string launch(int ranks) {
    return "timeout 300 mpirun --oversubscribe -n " + std::to_string(ranks) + " " SLUICE_COMMAND;
  }

  static nlohmann::json trained(int ranks, int accumulate, const std::string& more = "") {
    const TemporaryFolder folder;
    const std::string file = folder.file("run.json");
    const std::string settings = kTraining + " --accumulate " + std::to_string(accumulate) + " --json " + file;
    const Ended ended = run_shell((ranks == 1 ? SLUICE_COMMAND : launch(ranks)) + settings + more);
    EXPECT_EQ(ended.exit_code, 0) << ended.output;
    return read_json_file(file).value();
  }
};

TEST_F(Mpi, RanksHaveTheBitsOfOneProcess) {
  const nlohmann::json one = trained(1, 4, " --steps 3"), four = trained(4, 1, " --steps 3");
  EXPECT_EQ(four["final_loss"], one["final_loss"]);
  EXPECT_EQ(four["parameter_hash"], one["parameter_hash"]);
  EXPECT_FALSE(one.contains("ranks"));
}

// (ranks - 1) / ranks of every gradient and every parameter, here in fp32.
TEST_F(Mpi, ARankSendsWhatIsLeast) {
  const auto sent = [](int ranks) {
    return trained(ranks, 1, " --steps 1")["ranks"]["bytes_sent_a_step"].get<double>();
  };
  const double two = sent(2), three = sent(3);
  EXPECT_GT(two, 0);
  EXPECT_NEAR(three / two, (2.0 / 3) / (1.0 / 2), 1e-3);
}

TEST_F(Mpi, CheckpointsDoNotDependOnTheRanks) {
  const TemporaryFolder folder;
  const std::string file = folder.file("run.ckpt");
  trained(4, 1, " --steps 2 --checkpoint " + file);
  const nlohmann::json resumed = trained(1, 4, " --steps 4 --resume " + file);
  EXPECT_EQ(resumed["parameter_hash"], trained(1, 4, " --steps 4")["parameter_hash"]);
}

TEST_F(Mpi, ZeroOffloadGivesEachRanksPartToItsHost) {
  const std::string offload =
      " --steps 2 --precision bf16-masters --clip-norm 1 --slow pcie3 --processors device:1,host:1:pcie3 --planner "
      "zero-offload";
  std::string settings = kTraining;
  for (const std::string& own : {std::string(" --threads 1"), std::string(" --planner fast-only")}) {
    settings.erase(settings.find(own), own.size());
  }
  const Ended ended = run_shell(launch(2) + settings + offload);
  if (ended.output.find("cores to set aside") != std::string::npos) GTEST_SKIP() << "one core";
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("mean of 2"));
}

TEST_F(Mpi, OtherSettingsOnOneRankEndAll) {
  const auto refusal = [](const std::string& other) {
    // One program that is two: Open MPI 5.0.7 crashes where it is given several.
    const Ended ended = run_shell(
        "timeout 300 mpirun --oversubscribe -n 2 sh -c '[ $OMPI_COMM_WORLD_RANK = 0 ] && exec " SLUICE_COMMAND +
        kTraining + " --steps 2; exec " SLUICE_COMMAND + kTraining + other + "'");
    EXPECT_NE(ended.exit_code, 0) << other;
    EXPECT_NE(ended.exit_code, 124) << other << ": nobody waits for ever";
    return ended.output;
  };
  for (const char* other : {" --weight-decay 0.5 --steps 2", " --steps 3", " --steps 2 --seed 5"}) {
    EXPECT_THAT(refusal(other), HasSubstr("started with other settings than rank 0")) << other;
  }
  EXPECT_THAT(refusal(" --steps 2 --ranks 3"), HasSubstr("2 processes were started together"));
}

TEST_F(Mpi, ARankWithoutADiskEndsAll) {
  const Ended ended = run_shell(launch(2) +
                                " train resnet20 --batch 2 --width 4 --threads 1 --planner sentinel --fast 70% "
                                "--spill-dir /proc/none --steps 2");
  EXPECT_NE(ended.exit_code, 0);
  EXPECT_NE(ended.exit_code, 124);
  EXPECT_THAT(ended.output, HasSubstr("/proc/none"));
}

// The last checkpoint is whole, and the run goes on from it to the same bits.
TEST_F(Mpi, ARankThatDiesEndsTheOthersAndLeavesACheckpoint) {
  const TemporaryFolder folder;
  const std::string file = folder.file("run.ckpt"), log = folder.file("log");
  const std::string training = launch(2) + kTraining + " --steps 1000000 --checkpoint-every 10 --checkpoint " + file;
  std::thread waiting([&] { run_shell(training + " > " + log + " 2>&1; echo ended $? >> " + log); });
  for (int tenths = 0; tenths < 600 && !std::filesystem::exists(file); ++tenths) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  ASSERT_TRUE(std::filesystem::exists(file)) << read_text(log);
  EXPECT_TRUE(kill_one_with(file));
  waiting.join();
  EXPECT_THAT(read_text(log), HasSubstr("ended 137")) << "mpirun says which rank it was";
  const Ended resumed = run_shell(SLUICE_COMMAND + kTraining + " --accumulate 2 --resume " + file + " --steps 1");
  EXPECT_THAT(resumed.output, HasSubstr("already holds")) << "it is a whole checkpoint";
}

TEST_F(Mpi, RanksWithoutALauncherAreRefused) {
  const Ended alone = run_shell(SLUICE_COMMAND + kTraining + " --ranks 2 --steps 1");
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.output, HasSubstr("run mpirun -n 2 sluice train"));
  const Ended other = run_shell(launch(2) + kTraining + " --ranks 3 --steps 1");
  EXPECT_NE(other.exit_code, 0);
  EXPECT_THAT(other.output, HasSubstr("2 processes were started together"));
}

TEST_F(Mpi, WithoutItsLibraryItSaysWhatToInstall) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("libmpi.so.40")) << "no library";
  const Ended ended = run_shell("OMPI_COMM_WORLD_SIZE=2 LD_LIBRARY_PATH=" + folder.path().string() +
                                " " SLUICE_COMMAND + kTraining + " --steps 1");
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.output, HasSubstr("install Open MPI"));
}

}  // namespace
}  // namespace sluice::tests
