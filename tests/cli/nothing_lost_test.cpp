// A run is not lost to what happens around it: what it must write is tried before the first step, what fails meanwhile is
// outlived, and whatever ends it, the last good state is on disk. With real signals, limits, terminals and full disks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/cli/command_runner.hpp"

namespace sluice::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kSteps = "100000";  // more than there is patience for

class NothingLost : public ::testing::Test {
 protected:
  static Words train(const Words& more) { return joined(tiny("train", {"--planner", "fast-only"}), more); }
  // The same for a shell; its cache is the tests' own.
  static std::string in_shell(const Words& more) {
    std::string line = std::string("XDG_CACHE_HOME=") + SLUICE_TEST_CACHE + " " SLUICE_COMMAND;
    for (const std::string& word : train(more)) line += " " + word;
    return line;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_.path())) found.push_back(entry.path().filename());
    std::ranges::sort(found);
    return found;
  }
  // The step with which a run from this checkpoint goes on, in one more step.
  void expect_whole(const std::string& checkpoint) {
    const CommandResult done = call_sluice(train({"--resume", checkpoint, "--steps", "1"}));
    EXPECT_THAT(done.errors, HasSubstr("already holds")) << "it is a whole checkpoint";
  }

  TemporaryFolder folder_;
  const std::string checkpoint_ = folder_.file("run.ckpt");
};

TEST_F(NothingLost, OutputsThatCannotBeWrittenAreFoundBeforeTheFirstStep) {
  for (const std::string option : {"--checkpoint", "--losses", "--json", "--trace", "--save-plan"}) {
    const std::string file = folder_.file("missing/file");
    const CommandResult refused = call_sluice(train({"--steps", "2", option, file}));
    EXPECT_EQ(refused.exit_code, 1) << option;
    EXPECT_THAT(refused.errors, HasSubstr("cannot write " + file + ": No such file")) << option;
    EXPECT_THAT(refused.output, Not(HasSubstr("step      1"))) << option;
  }
  EXPECT_EQ(call_sluice(tiny("plan", {"-o", folder_.file("missing/plan.json")})).exit_code, 1);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(NothingLost, ALimitOnFilesIsFoundBeforeTheFirstStep) {
  const CommandResult refused =
      run_program({"sh", "-c", "ulimit -f 8; " + in_shell({"--steps", "2", "--checkpoint", checkpoint_}) + " | cat"});
  EXPECT_THAT(refused.errors, HasSubstr("cannot write " + checkpoint_ + ": File too large; allow larger files"));
  EXPECT_THAT(refused.output, Not(HasSubstr("step      1")));
  EXPECT_THAT(names(), IsEmpty());
}

// Shells and the kernel send a hangup several times, launchers SIGTERM.
TEST_F(NothingLost, WhateverAsksARunToEndGetsACheckpoint) {
  for (const std::vector<int>& signals : {std::vector{SIGHUP, SIGHUP}, {SIGTERM, SIGTERM, SIGHUP}, {SIGINT}}) {
    const CommandResult ended =
        signal_sluice(train({"--steps", kSteps, "--checkpoint", checkpoint_}), "step      1", signals);
    EXPECT_EQ(ended.exit_code, 130) << ended.errors;
    EXPECT_THAT(ended.output, AllOf(HasSubstr("interrupted before step"), HasSubstr(checkpoint_)));
    EXPECT_THAT(names(), ElementsAre("run.ckpt"));
    expect_whole(checkpoint_);
    fs::remove(checkpoint_);
  }
}

TEST_F(NothingLost, AKilledRunLeavesItsLastCheckpointAndTheNextOneCleansUp) {
  const CommandResult killed = signal_sluice(
      train({"--steps", kSteps, "--checkpoint", checkpoint_, "--checkpoint-every", "1"}), "step      1", {SIGKILL});
  EXPECT_EQ(killed.exit_code, 128 + SIGKILL);
  if (fs::exists(checkpoint_)) expect_whole(checkpoint_);
  std::ofstream(checkpoint_ + ".1-0.partial") << "half";
  EXPECT_EQ(call_sluice(train({"--steps", "2", "--checkpoint", checkpoint_})).exit_code, 0);
  EXPECT_THAT(names(), ElementsAre("run.ckpt"));
}

TEST_F(NothingLost, AReaderThatGoesAwayEndsNothing) {
  const CommandResult done = run_program({"bash", "-c",
                                          "{ " + in_shell({"-q", "--steps", "40", "--checkpoint", checkpoint_}) +
                                              "; echo $? >&2; } | head -n 1 > /dev/null"});
  EXPECT_EQ(done.errors, "1\n") << "nobody has read the result, and nobody is told";
  expect_whole(checkpoint_);
}

TEST_F(NothingLost, AFullLogEndsNothing) {
  const CommandResult done =
      run_program({"sh", "-c", in_shell({"--steps", "4", "--checkpoint", checkpoint_}) + " > /dev/full"});
  EXPECT_EQ(done.exit_code, 1) << "the result is lost";
  EXPECT_THAT(done.errors, HasSubstr("cannot write to standard output: No space left on device"));
  expect_whole(checkpoint_);
}

TEST_F(NothingLost, ResultsThatNobodyGotAreNoSuccess) {
  EXPECT_EQ(run_program({"sh", "-c", SLUICE_COMMAND " models > /dev/full"}).exit_code, 1);
  EXPECT_EQ(run_program({"sh", "-c", SLUICE_COMMAND " --help > /dev/full"}).exit_code, 1);
  EXPECT_EQ(run_program({"sh", "-c", SLUICE_COMMAND " models >&-"}).exit_code, 1);
}

// Else the checkpoint would be the first file that is opened, and get what is printed.
TEST_F(NothingLost, ClosedStreamsAreNotWrittenIntoFiles) {
  const std::string training = in_shell({"--steps", "2", "--checkpoint", checkpoint_}) + " <&- >&- 2>&-";
  EXPECT_EQ(run_program({"sh", "-c", training}).exit_code, 1) << "the result is lost";
  expect_whole(checkpoint_);
}

// As when ssh ends: a hangup, and every line fails from then on. `ignored`: by nohup.
CommandResult run_until_the_terminal_goes(const Words& words, bool ignored) {
  int terminal = -1;
  const pid_t process = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (process == 0) {
    if (ignored) ::signal(SIGHUP, SIG_IGN);
    ::setenv("XDG_CACHE_HOME", SLUICE_TEST_CACHE, 1);
    std::vector<char*> pointers;
    for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    ::execv(SLUICE_COMMAND, pointers.data());
    ::_exit(127);
  }
  CommandResult result;
  std::array<char, 4096> part{};
  while (result.output.find("step      1") == std::string::npos) {
    const ssize_t count = ::read(terminal, part.data(), part.size());
    if (count <= 0) break;
    result.output.append(part.data(), static_cast<std::size_t>(count));
  }
  ::close(terminal);
  int status = 0;
  EXPECT_EQ(::waitpid(process, &status, 0), process);
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

TEST_F(NothingLost, ATerminalThatGoesEndsARunWithItsCheckpoint) {
  const Words words = joined({SLUICE_COMMAND}, train({"--steps", kSteps, "--checkpoint", checkpoint_}));
  const CommandResult hung_up = run_until_the_terminal_goes(words, false);
  EXPECT_EQ(hung_up.exit_code, 130) << hung_up.output;
  expect_whole(checkpoint_);
}

TEST_F(NothingLost, ATerminalThatGoesEndsNothingUnderNohup) {
  const Words words = joined({SLUICE_COMMAND}, train({"--steps", "100", "--checkpoint", checkpoint_}));
  const CommandResult went_on = run_until_the_terminal_goes(words, true);
  EXPECT_EQ(went_on.exit_code, 1) << went_on.output;
  const CommandResult more = call_sluice(train({"--resume", checkpoint_, "--steps", "100"}));
  EXPECT_THAT(more.errors, HasSubstr("already holds 100 steps"));
}

// As a script's job in the background has it: Ctrl-C is for another one.
TEST_F(NothingLost, AnInterruptThatIsIgnoredEndsNothing) {
  const CommandResult done =
      run_program({"sh", "-c",
                   "trap '' INT; " + in_shell({"--steps", "40", "--checkpoint", checkpoint_}) +
                       " & job=$!; while kill -INT $job 2>/dev/null; do sleep 0.05; done; wait $job"});
  EXPECT_EQ(done.exit_code, 0) << done.errors;
  EXPECT_THAT(done.output, HasSubstr("done at step 40"));
  expect_whole(checkpoint_);
}

void wait_for_lines(const std::string& file, std::ptrdiff_t lines) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (std::ranges::count(read_text(file), '\n') < lines && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

TEST_F(NothingLost, AFolderThatIsAwayForAWhileEndsNothing) {
  const std::string losses = folder_.file("losses"), there = folder_.file("there"), away = folder_.file("away");
  fs::create_directory(there);
  const pid_t process = start_sluice(
      train({"--steps", "100", "--losses", losses, "--checkpoint", there + "/run.ckpt", "--checkpoint-every", "1"}),
      folder_.file("out"), folder_.file("err"));
  wait_for_lines(losses, 5);
  fs::rename(there, away);
  wait_for_lines(losses, 20);
  fs::rename(away, there);
  const CommandResult done = collect_sluice(process, folder_.file("out"), folder_.file("err"));
  EXPECT_EQ(done.exit_code, 0) << done.errors;
  EXPECT_THAT(done.errors,
              AllOf(HasSubstr("No such file or directory"), HasSubstr("training goes on, and it is tried again")));
  EXPECT_EQ(std::ranges::count(read_text(losses), '\n'), 100);
  const CommandResult more = call_sluice(train({"--resume", there + "/run.ckpt", "--steps", "100"}));
  EXPECT_THAT(more.errors, HasSubstr("already holds 100 steps"));
}

// A real one: of 3 MiB, where there is room for one checkpoint of 2.1 MiB and not for a second one beside it.
TEST_F(NothingLost, ADiskThatGetsFullEndsNothing) {
  const std::string mounted = folder_.file("disk");
  fs::create_directory(mounted);
  const std::string mount = "mount -t tmpfs -o size=3m none " + mounted;
  if (run_program({"unshare", "-m", "sh", "-c", mount}).exit_code != 0) GTEST_SKIP() << "nothing may be mounted here";
  const std::string file = mounted + "/run.ckpt";
  const CommandResult done =
      run_program({"unshare", "-m", "sh", "-c",
                   mount + "; " + in_shell({"--steps", "6", "--checkpoint", file, "--checkpoint-every", "2"}) +
                       "; echo exit $?; ls -A " + mounted + "; " + in_shell({"--steps", "2", "--resume", file})});
  EXPECT_THAT(done.output, AllOf(HasSubstr("step      6"), HasSubstr("exit 1\nrun.ckpt\n"))) << done.errors;
  EXPECT_THAT(done.errors, AllOf(HasSubstr("step 4: cannot write " + file + ": No space left on device"),
                                 HasSubstr("the last checkpoint has 2 steps: --resume " + file),
                                 HasSubstr("already holds 2 steps")));
}

// What can be written is written, whatever became of the rest.
TEST_F(NothingLost, AnOutputThatFailsAtTheEndTakesNoOtherWithIt) {
  const Words outputs{"--checkpoint", "/dev/full",
                      "--losses",     folder_.file("losses"),
                      "--trace",      "/dev/full",
                      "--save-plan",  folder_.file("plan.json"),
                      "--json",       folder_.file("result.json")};
  const CommandResult done = call_sluice(train(joined({"--steps", "2"}, outputs)));
  EXPECT_EQ(done.exit_code, 1);
  EXPECT_THAT(done.errors, HasSubstr("cannot write /dev/full: No space left on device"));
  EXPECT_THAT(names(), ElementsAre("losses", "plan.json", "result.json"));
  EXPECT_EQ(read_json(folder_.file("result.json"))["next_step"], 2);
}

}  // namespace
}  // namespace sluice::tests
