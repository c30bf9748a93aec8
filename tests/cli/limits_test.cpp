// What surrounds the command limits it: processors, OpenMP's settings, addresses, a control group, file systems. It stays
// within, says before the work what does not fit, and computes the same bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <set>
#include <thread>
#include <tuple>

#include "sluice/base/threads/cpu_affinity.hpp"
#include "sluice/base/units.hpp"
#include "tests/cli/command_runner.hpp"

namespace sluice::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const Words kTraining{"train", "resnet20", "--batch", "2", "--planner", "fast-only", "--steps", "2"};

// As a shell starts it: `before` is put before the command.
CommandResult run_after(const Words& before, const Words& arguments) {
  return run_program(joined(joined(before, {SLUICE_COMMAND}), arguments));
}

// "": it did not end well.
std::string hash_after(const Words& before, const Words& arguments, const TemporaryFolder& folder) {
  const CommandResult trained = run_after(before, joined(arguments, {"--json", folder.file("result.json")}));
  EXPECT_EQ(trained.exit_code, 0) << trained.errors;
  if (trained.exit_code != 0) return "";
  return read_json(folder.file("result.json"))["parameter_hash"].get<std::string>();
}

TEST(LimitsTest, OpenMpsSettingsChangeNoBits) {
  if (processor_count() < 2) GTEST_SKIP() << "one processor";
  const TemporaryFolder folder;
  const Words training = joined(kTraining, {"--threads", "2"});
  const std::string plain = hash_after({"env"}, training, folder);
  for (const char* const setting :
       {"OMP_DYNAMIC=true", "OMP_THREAD_LIMIT=1", "OMP_NUM_THREADS=1", "OMP_PROC_BIND=true"}) {
    EXPECT_EQ(hash_after({"env", setting}, training, folder), plain) << setting;
  }
}

// One plan, with transfers: addresses drawn anew, as the linker has them, and from below; beside other work; on one processor.
TEST(LimitsTest, APlanHasOneHashWhereverAndBesideWhateverItRuns) {
  const TemporaryFolder folder;
  const Words size{"resnet20", "--batch", "4",           "--threads",           "1",
                   "--slow",   "file",    "--spill-dir", folder.path().string()};
  const std::string plan = folder.file("plan.json");
  const CommandResult planned = run_sluice(joined(
      joined({"plan"}, size), {"--planner", "sentinel", "--fast", "60%", "--smallest-feasible", "--output", plan}));
  ASSERT_EQ(planned.exit_code, 0) << planned.errors;
  const Words training = joined(joined({"train"}, size), {"--plan", plan, "--steps", "3"});
  const std::string plain = hash_after({"env"}, training, folder);
  const Words beside_work{"sh", "-c",
                          "for i in 1 2 3; do timeout 60 sh -c 'while :; do :; done' & done; "
                          "\"$@\"; status=$?; kill $(jobs -p); exit $status",
                          "sh"};
  for (const Words& before : {Words{"setarch", "-R"}, Words{"setarch", "-L"}, beside_work}) {
    EXPECT_EQ(hash_after(before, training, folder), plain) << before.front();
  }
  std::jthread([&] {
    keep_to_cores(0, 1);
    EXPECT_EQ(hash_after({"env"}, training, folder), plain) << "on one processor";
  }).join();
}

TEST(LimitsTest, AThreadLimitOfOpenMpIsTheUsualNumberOfThreads) {
  if (processor_count() < 2) GTEST_SKIP() << "one processor";
  const TemporaryFolder folder;
  const std::string one = hash_after({"env"}, joined(kTraining, {"--threads", "1"}), folder);
  EXPECT_EQ(hash_after({"env", "OMP_THREAD_LIMIT=1"}, kTraining, folder), one);
}

// The CPUs that the threads of a process may run on, each list as /proc has it.
std::set<std::string> cpu_lists(pid_t process) {
  std::set<std::string> lists;
  std::error_code gone;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(process) + "/task", gone)) {
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("Cpus_allowed_list:")) lists.insert(line.substr(line.find('\t') + 1));
    }
  }
  return lists;
}

bool appears(const std::string& text, const std::string& file) {
  for (int tenths = 0; tenths < 600; ++tenths) {
    if (read_text(file).find(text) != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

// Lanes and all other threads, while tensors move. The command inherits the processors of the thread that starts it.
TEST(LimitsTest, ThreadsStayOnTheProcessorsThatTheCommandWasGiven) {
  if (processor_count() < 2) GTEST_SKIP() << "one processor";
  const TemporaryFolder folder;
  const Words training{"train",     "resnet20",    "--batch",
                       "2",         "--fast",      "60%",
                       "--planner", "on-demand",   "--slow",
                       "file",      "--spill-dir", folder.path().string(),
                       "--steps",   "100000",      "--smallest-feasible"};
  std::jthread([&] {
    keep_to_cores(0, 1);
    const pid_t process = start_sluice(training, folder.file("out"), folder.file("err"));
    EXPECT_TRUE(appears("step      1", folder.file("out"))) << read_text(folder.file("err"));
    EXPECT_THAT(cpu_lists(process), ::testing::SizeIs(1));
    ::kill(process, SIGINT);
    EXPECT_EQ(collect_sluice(process, folder.file("out"), folder.file("err")).exit_code, 130);
  }).join();
}

TEST(LimitsTest, WhatNeedsMoreAddressesThanThereAreIsRefusedBefore) {
  const CommandResult refused =
      run_program({"sh", "-c",
                   "ulimit -v 900000; exec " SLUICE_COMMAND " train resnet20 --batch 512 --threads 1 "
                   "--planner fast-only --steps 1"});
  EXPECT_EQ(refused.exit_code, 2) << refused.errors;
  EXPECT_THAT(refused.errors, HasSubstr("what is left by ulimit -v, which allows"));
}

// A control group of this much memory without swap, of either version, to start programs in.
class MemoryGroup {
 public:
  explicit MemoryGroup(Bytes bytes) {
    const std::string name = "sluice-test-" + std::to_string(::getpid());
    for (const auto& [parent, limit, swap] :
         {std::tuple{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"},
          std::tuple{"/sys/fs/cgroup", "memory.max", "memory.swap.max"}}) {
      const fs::path folder = fs::path(parent) / name;
      std::error_code refused;
      if (!fs::create_directory(folder, refused)) continue;
      if (fs::exists(folder / limit) && write(folder / limit, bytes)) {
        (void)write(folder / swap, parent == std::string("/sys/fs/cgroup") ? 0 : bytes);
        folder_ = folder;
        return;
      }
      ::rmdir(folder.c_str());
    }
  }
  ~MemoryGroup() {
    if (made()) ::rmdir(folder_.c_str());
  }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;

  bool made() const { return !folder_.empty(); }
  CommandResult run(const Words& arguments) const {
    const std::string enter = "echo $$ > " + (folder_ / "cgroup.procs").string() + " && exec \"$@\"";
    return run_program(joined({"sh", "-c", enter, "sh", SLUICE_COMMAND}, arguments));
  }

 private:
  static bool write(const fs::path& file, Bytes value) {
    std::ofstream opened(file);
    return (opened << value << std::flush).good();
  }
  fs::path folder_;
};

TEST(LimitsTest, AStepThatItsControlGroupHasNoRoomForIsRefusedBefore) {
  const MemoryGroup group(200 * kMiB);
  if (!group.made()) GTEST_SKIP() << "no control group can be made here";
  const Words step{"train", "resnet20", "--batch", "512", "--threads", "1", "--steps", "1"};
  const CommandResult whole = group.run(joined(step, {"--planner", "fast-only"}));
  EXPECT_EQ(whole.exit_code, 2) << whole.errors;
  EXPECT_THAT(whole.errors, HasSubstr("what is left by the control group, which allows 200.0 MiB"));
  const CommandResult asked = group.run(joined(step, {"--fast", "300MiB"}));
  EXPECT_EQ(asked.exit_code, 2) << asked.errors;
  const CommandResult slow =
      group.run(joined(step, {"--fast", "96MiB", "--smallest-feasible", "--planner", "sentinel", "--slow", "optane"}));
  EXPECT_EQ(slow.exit_code, 1) << "memory that stands for slower memory is memory: " << slow.errors;
  EXPECT_THAT(slow.errors, HasSubstr("for tier 'optane'), and this process may have"));
}

TEST(LimitsTest, APlanWithinItsControlGroupRuns) {
  const MemoryGroup group(200 * kMiB);
  if (!group.made()) GTEST_SKIP() << "no control group can be made here";
  const TemporaryFolder folder;
  const CommandResult trained =
      group.run({"train", "resnet20", "--batch", "512", "--threads", "1", "--fast", "96MiB", "--smallest-feasible",
                 "--slow", "file", "--spill-dir", folder.path().string(), "--steps", "2"});
  EXPECT_EQ(trained.exit_code, 0) << trained.errors;
}

}  // namespace
}  // namespace sluice::tests
