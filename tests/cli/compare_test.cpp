// What `sluice compare` writes, and what it leaves behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/cli/command_runner.hpp"
#include "tests/cli/documented_fields.hpp"

namespace sluice {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class CompareTest : public ::testing::Test {
 protected:
  json compare(const std::vector<std::string>& more) {
    std::vector<std::string> arguments{
        "compare", "resnet20", "--batch", "2", "--fast", "60%", "--json", folder_.file("out.json"), "--threads", "1"};
    if (std::ranges::find(more, "--starts") == more.end()) arguments.insert(arguments.end(), {"--starts", "1"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    result_ = run_sluice(arguments);
    EXPECT_EQ(result_.exit_code, 0) << result_.errors;
    return json::parse(read_text(folder_.file("out.json")));
  }
  static std::vector<DocumentedField> documented() { return read_fields(SLUICE_SOURCE_FOLDER "/docs/comparison.md"); }
  static std::vector<std::string> faults(const json& document) {
    return check_fields(document, documented(), "infeasible");
  }

  TemporaryFolder folder_;
  CommandResult result_;
};

TEST_F(CompareTest, EveryFieldIsDocumentedAndEveryDocumentedFieldIsThere) {
  const json document = compare({"--planners", "on-demand,slow-only,sentinel", "--steps", "4"});
  EXPECT_GT(documented().size(), 70U);
  EXPECT_THAT(faults(document), IsEmpty());
  EXPECT_EQ(document["results"][1]["policy"], json());
  EXPECT_THAT(document["results"][2]["infeasible"].get<std::string>(), HasSubstr("cannot address"));
}

TEST_F(CompareTest, EveryStartIsTheSameTrainingByOtherProcesses) {
  const json document = compare({"--planners", "on-demand", "--steps", "4", "--starts", "2"});
  EXPECT_EQ(document["starts"], 2);
  EXPECT_THAT(result_.output, HasSubstr("4 steps in turn, 2 of them warm-up, by 2 processes of each"));
  for (const json& row : document["results"]) {
    EXPECT_EQ(row["slowdown_of_starts"].size(), 2U);
    EXPECT_EQ(row["round_ms"].size(), 2U * 2U);
    EXPECT_EQ(row["loss_bits"].size(), 4U);
    EXPECT_EQ(row["same_losses"], true);
    EXPECT_EQ(row["same_parameters"], true);
  }
}

// The check of fields itself: each of these must be found.
TEST_F(CompareTest, AFieldThatIsMissingOrOfAnotherTypeWouldBeFound) {
  const json whole = compare({"--planners", "on-demand", "--steps", "3"});
  ASSERT_THAT(faults(whole), IsEmpty());
  const auto faults_of = [&](const auto& change) {
    json changed = whole;
    change(changed);
    return faults(changed);
  };
  EXPECT_THAT(faults_of([](json& d) { d["results"][1].erase("ratio_error"); }),
              ::testing::ElementsAre(".results[].ratio_error is missing"));
  EXPECT_THAT(faults_of([](json& d) { d["results"][1]["step_ms"]["q1"] = "12"; }),
              ::testing::ElementsAre(".results[].step_ms.q1 is no number: \"12\""));
  EXPECT_THAT(faults_of([](json& d) { d["run"]["processor"]["speed"] = 1; }),
              ::testing::ElementsAre(".run.processor.speed is not documented"));
  EXPECT_THAT(faults_of([](json& d) { d["results"][0]["same_losses"] = nullptr; }), Not(IsEmpty()));
  EXPECT_THAT(faults_of([](json& d) { d["batch"] = 2.5; }), Not(IsEmpty()));
}

TEST_F(CompareTest, RowsAreAboutTheSameTraining) {
  const json document = compare({"--planners", "on-demand,sentinel", "--steps", "4"});
  const json& rows = document["results"];
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0]["planner"], "fast-only");
  for (const json& row : rows) {
    EXPECT_EQ(row["parameter_hash"], rows[0]["parameter_hash"]);
    EXPECT_EQ(row["loss_bits"], rows[0]["loss_bits"]);
    EXPECT_EQ(row["loss_bits"].size(), 4U);
    EXPECT_EQ(row["losses"].size(), 4U);
    EXPECT_EQ(row["round_ms"].size(), 2U);
    EXPECT_GT(row["peak_rss_bytes"], row["fast_arena_bytes"]);
    EXPECT_GT(row["locality"]["series"].size(), 1U);
    EXPECT_LE(row["step_ms"]["q1"], row["step_ms"]["median"]);
    EXPECT_LE(row["step_ms"]["median"], row["step_ms"]["q3"]);
  }
  EXPECT_EQ(rows[0]["ratio_error"], 0);
  EXPECT_EQ(rows[0]["predicted_slowdown"], 1);
  EXPECT_EQ(rows[0]["bytes_in"], 0);
  EXPECT_EQ(rows[0]["locality"]["by_bytes"], 1);
  EXPECT_GT(rows[1]["bytes_in"], 0);
  EXPECT_LT(rows[1]["locality"]["by_bytes"], 1) << "on-demand waits for all that it fetches";
  EXPECT_GT(document["run"]["processor"]["cores"], 0);
}

// Passes every 2 ms over steps that take longer: each step has several, before the first round and in it.
TEST_F(CompareTest, PoliciesShowTheirPassesAndBytes) {
  const json document =
      compare({"--planners", "ial:period=0.002,numa-first-touch", "--steps", "4", "--slow", "optane"});
  EXPECT_THAT(faults(document), IsEmpty());
  const json& lists = document["results"][1]["policy"];
  EXPECT_GE(lists["settling_steps"], 8);
  EXPECT_EQ(lists["steps"].get<std::int64_t>(), lists["settling_steps"].get<std::int64_t>() + 4);
  EXPECT_GE(lists["passes"], 8);
  EXPECT_GT(lists["bytes_in"], 0);
  EXPECT_GT(lists["figures"]["pages promoted"], 0);
  const json& first_touch = document["results"][2]["policy"];
  EXPECT_EQ(first_touch["passes"], json());
  EXPECT_EQ(first_touch["bytes_in"], 0);
  EXPECT_EQ(document["results"][1]["loss_bits"], document["results"][0]["loss_bits"]) << "settling trains nothing";
  EXPECT_THAT(result_.output, HasSubstr("policies, all steps together"));
}

TEST_F(CompareTest, CountedAccessesAreUsedAndRecorded) {
  const std::string counts = folder_.file("counts.json");
  const CommandResult profiled = run_sluice(
      {"profile", "resnet20", "--batch", "2", "--threads", "1", "--slow", "optane", "--accesses", "--save", counts});
  ASSERT_EQ(profiled.exit_code, 0) << profiled.errors;
  const std::vector<std::string> sentinel{"--planners", "sentinel", "--steps",  "3",
                                          "--slow",     "optane",   "--trials", "0"};
  EXPECT_EQ(compare(sentinel)["profile"]["access_counts"], false);
  std::vector<std::string> with_counts = sentinel;
  with_counts.insert(with_counts.end(), {"--accesses", counts});
  EXPECT_EQ(compare(with_counts)["profile"]["access_counts"], true);
}

std::vector<pid_t> children_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/task/" + std::to_string(process) + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

// Dead, though perhaps not yet reaped by whoever inherited it.
bool is_dead(pid_t process) {
  std::string text;
  std::getline(std::ifstream("/proc/" + std::to_string(process) + "/stat"), text);
  return text.find(") Z ") != std::string::npos || text.empty();
}

template <typename Condition>
bool comes_true(const Condition& condition) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

// Workers that were stopped must not outlive a parent that had no chance to end them.
TEST_F(CompareTest, NoWorkerOutlivesItsParent) {
  const pid_t parent = start_sluice({"compare", "resnet20", "--batch", "2", "--threads", "1", "--fast", "60%",
                                     "--planners", "on-demand,sentinel", "--steps", "100000"},
                                    folder_.file("out"), folder_.file("err"));
  ASSERT_TRUE(comes_true([&] { return children_of(parent).size() == 3; })) << read_text(folder_.file("err"));
  const std::vector<pid_t> workers = children_of(parent);
  ASSERT_EQ(::kill(parent, SIGKILL), 0);
  EXPECT_EQ(collect_sluice(parent, folder_.file("out"), folder_.file("err")).exit_code, 128 + SIGKILL);
  for (const pid_t worker : workers) {
    EXPECT_TRUE(comes_true([&] { return is_dead(worker); })) << worker;
  }
}

TEST_F(CompareTest, CtrlCEndsItWithAllItsWorkers) {
  const pid_t parent = start_sluice({"compare", "resnet20", "--batch", "2", "--threads", "1", "--fast", "60%",
                                     "--planners", "on-demand", "--steps", "100000"},
                                    folder_.file("out"), folder_.file("err"));
  ASSERT_TRUE(comes_true([&] { return children_of(parent).size() == 2; })) << read_text(folder_.file("err"));
  const std::vector<pid_t> workers = children_of(parent);
  for (const pid_t worker : workers) ::kill(worker, SIGINT);  // as a terminal sends it to the whole group
  ASSERT_EQ(::kill(parent, SIGINT), 0);
  const CommandResult ended = collect_sluice(parent, folder_.file("out"), folder_.file("err"));
  EXPECT_EQ(ended.exit_code, 130) << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("interrupted"));
  for (const pid_t worker : workers) EXPECT_TRUE(is_dead(worker));
}

}  // namespace
}  // namespace sluice
