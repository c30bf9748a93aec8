// What becomes of a worker between its turns, and when it or its parent is no more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>

#include "sluice/experiment/worker.hpp"
#include "sluice/testing/scripted_worker.hpp"

namespace sluice::experiment {
namespace {

using ::testing::HasSubstr;
using testing::ScriptedWorkers;

class WorkerProcessTest : public ::testing::Test {
 protected:
  WorkerProcessTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sluice_worker_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~WorkerProcessTest() override { std::filesystem::remove_all(folder_); }

  static std::unique_ptr<WorkerProcess> start(const testing::ScriptedWorkers& workers) {
    return WorkerProcess::start(workers.program(), {.plan = "/plans/mine.json"}).value();
  }

  std::filesystem::path folder_;
};

// 'T': stopped.
char state_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(") ");
  return name_end == std::string::npos ? '?' : text[name_end + 2];
}

bool exists(pid_t process) { return ::kill(process, 0) == 0 || errno != ESRCH; }

TEST_F(WorkerProcessTest, SleepsBetweenItsTurns) {
  const testing::ScriptedWorkers workers(
      folder_, {.step_seconds = 0.25, .at_step = "cut -d\" \" -f3 /proc/$$/stat > " + (folder_ / "state").string()});
  const auto worker = start(workers);
  EXPECT_EQ(state_of(worker->process()), 'T') << "after its setup";
  const auto step = worker->run_step(0, 0.1F);
  ASSERT_TRUE(step.ok()) << step.error().message;
  EXPECT_EQ(step->step_seconds, 0.25);
  EXPECT_EQ(state_of(worker->process()), 'T') << "after a step";
  std::string state;
  std::ifstream(folder_ / "state") >> state;
  EXPECT_NE(state, "T") << "it ran in its step";
  ASSERT_TRUE(worker->restart().ok());
  EXPECT_EQ(state_of(worker->process()), 'T');
  ASSERT_TRUE(worker->finish().ok());
  EXPECT_EQ(workers.turns(), (std::vector<std::string>{"mine", "restart mine"}));
}

TEST_F(WorkerProcessTest, IsGoneWithItsObjectThoughItWasStopped) {
  const testing::ScriptedWorkers workers(folder_, {});
  auto worker = start(workers);
  const pid_t process = worker->process();
  ASSERT_TRUE(exists(process));
  worker.reset();
  EXPECT_FALSE(exists(process));
}

TEST_F(WorkerProcessTest, ADeathBetweenTurnsIsSaid) {
  const testing::ScriptedWorkers workers(folder_, {});
  const auto worker = start(workers);
  const pid_t process = worker->process();
  ASSERT_EQ(::kill(process, SIGKILL), 0);
  const auto step = worker->run_step(0, 0.1F);
  ASSERT_FALSE(step.ok());
  EXPECT_THAT(step.error().message, HasSubstr("was killed by signal 9"));
  EXPECT_EQ(worker->process(), -1);
  EXPECT_FALSE(worker->finish().ok()) << "and said again";
  EXPECT_FALSE(exists(process));
}

TEST_F(WorkerProcessTest, ADeathInAStepIsSaid) {
  const testing::ScriptedWorkers workers(folder_, {.at_step = "exit 7"});
  const auto worker = start(workers);
  const auto step = worker->run_step(0, 0.1F);
  ASSERT_FALSE(step.ok());
  EXPECT_THAT(step.error().message, HasSubstr("ended early with status 7"));
}

}  // namespace
}  // namespace sluice::experiment
