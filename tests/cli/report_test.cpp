// sluice report: its parts are what the other commands write, its page holds the same document, and what can go wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "tests/cli/command_runner.hpp"
#include "tests/cli/documented_fields.hpp"

namespace sluice::tests {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// With op times and links of its own, so that another test's measurements do not come between two commands.
class ReportTest : public ::testing::Test {
 protected:
  Words cache() const { return {"--cache-dir", folder_.file("cache")}; }
  json document(const std::string& command, const Words& more) const {
    return document_of(tiny(command, joined(cache(), more)));
  }

  TemporaryFolder folder_;
  const std::string page_ = folder_.file("report.html");
};

// But for when it was, how long planning took, and what only one of the two adds.
void expect_same(const json& part, json whole, const Words& besides) {
  for (const std::string& key : besides) whole.erase(key);
  for (const auto& [key, value] : whole.items()) {
    ASSERT_TRUE(part.contains(key)) << key;
    EXPECT_EQ(part.at(key), value) << key;
  }
}

TEST_F(ReportTest, ItsPartsAreWhatOtherCommandsWriteAndItsPageHoldsThem) {
  const Words sentinel{"--fast", "60%", "--planner", "sentinel"};
  const json report =
      document("report", joined(sentinel, {"--planners", "on-demand", "--curve", "60%,100%", "-o", page_}));
  EXPECT_THAT(check_fields(report, read_fields(SLUICE_SOURCE_FOLDER "/docs/report.md"), "infeasible"), IsEmpty());
  const std::string page = read_text(page_);
  const std::string begin = "<script type=\"application/json\" id=\"report-data\">";
  const std::size_t at = page.find(begin) + begin.size();
  EXPECT_EQ(json::parse(page.substr(at, page.find("</script>", at) - at)), report);
  EXPECT_LE(page.size(), 3U << 20);

  expect_same(report["plan"], document("plan", sentinel),
              {"format", "version", "command", "run", "under_noise", "planning_ms", "convergence"});
  const json step = document("simulate", sentinel);
  for (const char* key : {"predicted_ms", "stall_ms", "locality", "parts_ms"})
    EXPECT_EQ(report["step"][key], step[key]);
  const json swept = document_of(joined({"sweep", "resnet20:2", "--threads", "1", "--slow", "optane", "--fast",
                                         "60%,100%", "--planners", "on-demand,sentinel"},
                                        cache()));
  const json& points = report["sweep"]["models"][0]["points"];
  ASSERT_EQ(points.size(), swept["models"][0]["points"].size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    expect_same(points[i], swept["models"][0]["points"][i], {"bound_slowdown"});  // there every planner gets one
  }
}

TEST_F(ReportTest, RunsPlannersWhereAsked) {
  const std::string file = folder_.file("report.json");
  const CommandResult ran = run_sluice(
      tiny("report", joined(cache(), {"--fast", "60%", "--planner", "sentinel", "--planners", "on-demand", "--curve",
                                      "100%", "--run", "--steps", "3", "-o", page_, "--json", file})));
  ASSERT_EQ(ran.exit_code, 0) << ran.errors;
  const json comparison = read_json(file)["comparison"];
  EXPECT_EQ(comparison["executed"], true);
  for (const json& row : comparison["results"]) {
    EXPECT_GT(row["step_ms"]["q3"], 0) << row["planner"];
    EXPECT_TRUE(row["same_losses"].get<bool>());
  }
  EXPECT_THAT(read_text(page_), HasSubstr("Run step by step in turn"));
}

// What was finished is in the page, which says what is missing.
TEST_F(ReportTest, AnInterruptedReportIsWhole) {
  const std::string output = folder_.file("output"), errors = folder_.file("errors");
  const pid_t process =
      start_sluice(tiny("report", {"--fast", "60%", "--planner", "joint", "-o", page_}), output, errors);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  kill(process, SIGINT);
  const CommandResult result = collect_sluice(process, output, errors);
  if (result.exit_code == 0) GTEST_SKIP() << "it was done before it could be interrupted";
  EXPECT_EQ(result.exit_code, 130) << result.errors;
  if (std::filesystem::exists(page_)) {
    EXPECT_THAT(read_text(page_), HasSubstr("This report was interrupted"));
    EXPECT_THAT(read_text(page_), HasSubstr("</html>"));
  }
}

}  // namespace
}  // namespace sluice::tests
