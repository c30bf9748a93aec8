// sluice report: its parts are what the other commands write, its page holds the same document, and what can go wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/cli/command_runner.hpp"
#include "tests/cli/documented_fields.hpp"

namespace sluice {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// With op times and links of its own, so that another test's measurements do not come between two commands.
std::vector<std::string> command_in(const TemporaryFolder& folder, const std::string& name,
                                    const std::vector<std::string>& more) {
  std::vector<std::string> arguments{name};
  if (name != "sweep" && name != "machine") arguments.insert(arguments.end(), {"resnet20", "--batch", "2"});
  arguments.insert(arguments.end(), {"--threads", "1", "--cache-dir", folder.file("cache")});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

json written_in(const TemporaryFolder& folder, const std::string& name, std::vector<std::string> more) {
  more.insert(more.end(), {"--json", folder.file(name + ".json")});
  const CommandResult result = run_sluice(command_in(folder, name, more));
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  return json::parse(read_text(folder.file(name + ".json")));
}

// One report for all tests that only look at it.
class ReportTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    made_ = std::make_unique<TemporaryFolder>();
    machine_ = written_in(*made_, "machine", {});
    document_ = written_in(*made_, "report",
                           {"--fast", "60%", "--planner", "sentinel", "--planners", "on-demand", "--curve", "60%,100%",
                            "-o", made_->file("report.html")});
    page_ = read_text(made_->file("report.html"));
  }
  static void TearDownTestSuite() { made_.reset(); }

  static inline std::unique_ptr<TemporaryFolder> made_;
  static inline json machine_, document_;
  static inline std::string page_;
  TemporaryFolder folder_;
};

// But for when it was, how long planning took, and what only one of the two adds.
void expect_same(const json& part, json whole, const std::vector<std::string>& besides) {
  for (const std::string& key : besides) whole.erase(key);
  for (const auto& [key, value] : whole.items()) {
    ASSERT_TRUE(part.contains(key)) << key;
    EXPECT_EQ(part.at(key), value) << key;
  }
}

TEST_F(ReportTest, ItsPartsAreWhatOtherCommandsWrite) {
  const json plan = written_in(*made_, "plan", {"--fast", "60%", "--planner", "sentinel"});
  expect_same(document_["plan"], plan,
              {"format", "version", "command", "run", "under_noise", "planning_ms", "convergence", "budgets"});
  EXPECT_EQ(document_["plan"]["budgets"][0], plan["budgets"][0]) << "of the disk it is what is free at the moment";
  const json step = written_in(*made_, "simulate", {"--fast", "60%", "--planner", "sentinel"});
  for (const char* key : {"predicted_ms", "stall_ms", "locality", "parts_ms"})
    EXPECT_EQ(document_["step"][key], step[key]);
  const json swept =
      written_in(*made_, "sweep", {"resnet20:2", "--fast", "60%,100%", "--planners", "on-demand,sentinel"});
  const json& points = document_["sweep"]["models"][0]["points"];
  ASSERT_EQ(points.size(), swept["models"][0]["points"].size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    expect_same(points[i], swept["models"][0]["points"][i], {"bound_slowdown"});  // there every planner gets one
  }
  EXPECT_EQ(document_["machine"]["links"], machine_["links"]);
}

TEST_F(ReportTest, ThePageHoldsTheDocument) {
  const std::string begin = "<script type=\"application/json\" id=\"report-data\">";
  const std::size_t at = page_.find(begin) + begin.size();
  EXPECT_EQ(json::parse(page_.substr(at, page_.find("</script>", at) - at)), document_);
  EXPECT_LE(page_.size(), 3U << 20);
}

TEST_F(ReportTest, DocumentsItsFields) {
  EXPECT_THAT(check_fields(document_, read_fields(SLUICE_SOURCE_FOLDER "/docs/report.md"), "infeasible"), IsEmpty());
}

TEST_F(ReportTest, RunsPlannersWhereAsked) {
  const json document = written_in(folder_, "report",
                                   {"--fast", "60%", "--planner", "sentinel", "--planners", "on-demand", "--curve",
                                    "100%", "--run", "--steps", "3", "-o", folder_.file("r.html")});
  EXPECT_EQ(document["comparison"]["executed"], true);
  for (const json& row : document["comparison"]["results"]) {
    EXPECT_GT(row["step_ms"]["q3"], 0) << row["planner"];
    EXPECT_TRUE(row["same_losses"].get<bool>());
  }
  EXPECT_THAT(read_text(folder_.file("r.html")), HasSubstr("Run step by step in turn"));
}

TEST_F(ReportTest, SaysBeforeItMeasuresThatItCannotWrite) {
  const CommandResult result = run_sluice(command_in(folder_, "report", {"-o", folder_.file("none/report.html")}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.errors, HasSubstr("none/report.html"));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("cache"))) << "nothing was measured";
}

TEST_F(ReportTest, RefusesWhatMakesNoSense) {
  EXPECT_EQ(run_sluice(command_in(folder_, "report", {"--planner", "um"})).exit_code, 2);
  EXPECT_EQ(run_sluice(command_in(folder_, "report", {"--planners", "nobody"})).exit_code, 2);
  EXPECT_EQ(run_sluice(command_in(folder_, "report", {"--curve", "much"})).exit_code, 2);
  EXPECT_EQ(run_sluice(command_in(folder_, "report", {"--run", "--starts", "0"})).exit_code, 2);
}

// What was finished is in the page, which says what is missing.
TEST_F(ReportTest, AnInterruptedReportIsWhole) {
  const std::string page = folder_.file("cut.html");
  const pid_t process = start_sluice(command_in(*made_, "report", {"--fast", "60%", "--planner", "joint", "-o", page}),
                                     folder_.file("output"), folder_.file("errors"));
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  kill(process, SIGINT);
  const CommandResult result = collect_sluice(process, folder_.file("output"), folder_.file("errors"));
  if (result.exit_code == 0) GTEST_SKIP() << "it was done before it could be interrupted";
  EXPECT_EQ(result.exit_code, 130) << result.errors;
  if (std::filesystem::exists(page)) {
    EXPECT_THAT(read_text(page), HasSubstr("This report was interrupted"));
    EXPECT_THAT(read_text(page), HasSubstr("</html>"));
  }
}

}  // namespace
}  // namespace sluice
