// What `sluice compare` writes, and what it leaves behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "tests/cli/command_runner.hpp"
#include "tests/cli/documented_fields.hpp"

namespace sluice::tests {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CompareTest : public ::testing::Test {
 protected:
  // Its document, held against the page.
  json compare(const Words& more) {
    const std::string file = folder_.file("out.json");
    result_ = run_sluice(joined({"compare", "resnet20", "--threads", "1", "--json", file}, more));
    EXPECT_EQ(result_.exit_code, 0) << result_.errors;
    const json document = read_json(file);
    const auto tables = read_tables(SLUICE_SOURCE_FOLDER "/docs/json.md");
    std::vector<DocumentedField> fields = tables.at("every document");
    fields.insert(fields.end(), tables.at("compare").begin(), tables.at("compare").end());
    EXPECT_GT(fields.size(), 70U);
    EXPECT_THAT(check_fields(document, fields, "infeasible"), IsEmpty());
    return document;
  }
  pid_t start(const std::string& planners) const {
    return start_sluice(tiny("compare", {"--fast", "60%", "--planners", planners, "--steps", "100000"}),
                        folder_.file("out"), folder_.file("err"));
  }
  CommandResult collect(pid_t parent) const { return collect_sluice(parent, folder_.file("out"), folder_.file("err")); }

  TemporaryFolder folder_;
  CommandResult result_;
};

TEST_F(CompareTest, RowsAreAboutTheSameTrainingByOtherProcesses) {
  const json document = compare(
      {"--batch", "2", "--fast", "60%", "--planners", "on-demand,slow-only,sentinel", "--steps", "4", "--starts", "2"});
  EXPECT_EQ(document["starts"], 2);
  EXPECT_THAT(result_.output, HasSubstr("4 steps in turn, 2 of them warm-up, by 2 processes of each"));
  EXPECT_EQ(document["profile"]["access_counts"], false);
  EXPECT_GT(document["run"]["processor"]["cores"], 0);
  const json& rows = document["results"];
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_THAT(rows[2]["infeasible"].get<std::string>(), HasSubstr("cannot address"));
  for (const std::size_t i : {0U, 1U, 3U}) {
    const json& row = rows[i];
    EXPECT_EQ(row["parameter_hash"], rows[0]["parameter_hash"]);
    EXPECT_EQ(row["loss_bits"], rows[0]["loss_bits"]);
    EXPECT_EQ(row["loss_bits"].size(), 4U);
    EXPECT_EQ(row["slowdown_of_starts"].size(), 2U);
    EXPECT_EQ(row["round_ms"].size(), 2U * 2U);
    EXPECT_GT(row["peak_rss_bytes"], row["fast_arena_bytes"]);
    EXPECT_GT(row["locality"]["series"].size(), 1U);
    EXPECT_LE(row["step_ms"]["q1"], row["step_ms"]["median"]);
    EXPECT_LE(row["step_ms"]["median"], row["step_ms"]["q3"]);
  }
  EXPECT_EQ(rows[0]["ratio_error"], 0);
  EXPECT_EQ(rows[0]["bytes_in"], 0);
  EXPECT_EQ(rows[0]["locality"]["by_bytes"], 1);
  EXPECT_GT(rows[1]["bytes_in"], 0);
  EXPECT_LT(rows[1]["locality"]["by_bytes"], 1) << "on-demand waits for all that it fetches";
}

// Passes every 2 ms over steps that take longer: each step has several, before the first round and in it.
TEST_F(CompareTest, PoliciesShowTheirPassesAndBytes) {
  const std::string counts = folder_.file("counts.json");
  ASSERT_EQ(call_sluice({"profile", "resnet20", "--batch", "8", "--threads", "1", "--slow", "optane", "--accesses",
                         "--save", counts})
                .exit_code,
            0);
  const json document = compare({"--batch", "8", "--fast", "60%", "--planners", "ial:period=0.002,numa-first-touch,dtr",
                                 "--steps", "4", "--starts", "1", "--slow", "optane", "--accesses", counts});
  EXPECT_EQ(document["profile"]["access_counts"], true);
  const json& rows = document["results"];
  for (const json& row : rows) EXPECT_EQ(row["loss_bits"], rows[0]["loss_bits"]) << "settling trains nothing";
  const json& lists = rows[1]["policy"];
  EXPECT_GE(lists["settling_steps"], 8);
  EXPECT_EQ(lists["steps"].get<std::int64_t>(), lists["settling_steps"].get<std::int64_t>() + 4);
  EXPECT_GE(lists["passes"], 8);
  EXPECT_GT(lists["bytes_in"], 0);
  EXPECT_GT(lists["figures"]["pages promoted"], 0);
  EXPECT_EQ(rows[1]["fast_arena_bytes"], document["fast_only_bytes"]) << "data stay in fast memory";
  EXPECT_EQ(rows[2]["policy"]["passes"], json());
  EXPECT_EQ(rows[2]["policy"]["bytes_in"], 0);
  EXPECT_EQ(rows[3]["bytes_in"], 0) << "dtr makes again instead of moving";
  EXPECT_EQ(rows[3]["fast_arena_bytes"], rows[3]["fast_budget_bytes"]) << "the budget is all that it has";
  EXPECT_THAT(result_.output, HasSubstr("policies, all steps together"));
  EXPECT_THAT(result_.output, HasSubstr("note: ial is emulated"));
}

TEST_F(CompareTest, RaisedBudgetsAreSaid) {
  const json document = compare({"--batch", "2", "--fast", "64KiB", "--smallest-feasible", "--planners", "on-demand",
                                 "--steps", "3", "--starts", "1", "--slow", "optane", "--link-bandwidth", "200MB/s"});
  EXPECT_TRUE(document["run"]["emulated"].get<bool>());
  const json& row = document["results"][1];
  EXPECT_TRUE(row["budget_raised"].get<bool>());
  EXPECT_EQ(row["asked_budget_bytes"], 65536);
  EXPECT_GT(row["fast_budget_bytes"], 65536);
  EXPECT_LE(row["fast_arena_bytes"], row["fast_budget_bytes"]);
  EXPECT_FALSE(document["results"][0]["budget_raised"].get<bool>());
  EXPECT_THAT(result_.output, HasSubstr("note: * on-demand cannot do with the 64.0 KiB asked for"));
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
  const pid_t parent = start("on-demand,sentinel");
  ASSERT_TRUE(comes_true([&] { return children_of(parent).size() == 3; })) << read_text(folder_.file("err"));
  const std::vector<pid_t> workers = children_of(parent);
  ASSERT_EQ(::kill(parent, SIGKILL), 0);
  EXPECT_EQ(collect(parent).exit_code, 128 + SIGKILL);
  for (const pid_t worker : workers) {
    EXPECT_TRUE(comes_true([&] { return is_dead(worker); })) << worker;
  }
}

TEST_F(CompareTest, CtrlCEndsItWithAllItsWorkers) {
  const pid_t parent = start("on-demand");
  ASSERT_TRUE(comes_true([&] { return children_of(parent).size() == 2; })) << read_text(folder_.file("err"));
  const std::vector<pid_t> workers = children_of(parent);
  for (const pid_t worker : workers) ::kill(worker, SIGINT);  // as a terminal sends it to the whole group
  ASSERT_EQ(::kill(parent, SIGINT), 0);
  const CommandResult ended = collect(parent);
  EXPECT_EQ(ended.exit_code, 130) << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("interrupted"));
  for (const pid_t worker : workers) EXPECT_TRUE(is_dead(worker));
}

}  // namespace
}  // namespace sluice::tests
