#include "sluice/plan/plan_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "sluice/graph/reschedule.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/random_plan.hpp"
#include "sluice/testing/random/random_schedule.hpp"
#include "sluice/testing/tiny_step.hpp"

namespace sluice::plan {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

bool equal(const Plan& a, const Plan& b) {
  return a.graph_name == b.graph_name && a.graph_fingerprint == b.graph_fingerprint &&
         a.machine_fingerprint == b.machine_fingerprint && a.planner == b.planner &&
         a.planner_config == b.planner_config && a.solver_status == b.solver_status && a.budgets == b.budgets &&
         a.arena_bytes == b.arena_bytes && a.predicted_step_seconds == b.predicted_step_seconds &&
         a.order_bound_seconds == b.order_bound_seconds && a.lower_bound_seconds == b.lower_bound_seconds &&
         a.prices == b.prices && a.any_order_prices == b.any_order_prices && a.ops == b.ops &&
         a.residencies == b.residencies && a.blocks == b.blocks && a.migrations == b.migrations &&
         a.schedule == b.schedule && a.raised_from == b.raised_from && a.stitches == b.stitches;
}

class PlanFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("plan_file_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string text_of(const std::filesystem::path& path) const {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::string error_of(const json& document) const {
    const Result<Plan> plan = plan_from_json(document);
    return plan.ok() ? "no error" : plan.error().message;
  }

  std::filesystem::path folder_;
  testing::TinyStep step_ = testing::tiny_step();
};

TEST_F(PlanFileTest, ReadsWhatItWrote) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    const graph::Graph graph = testing::random_graph(seed);
    Plan plan = testing::random_plan(seed, graph, testing::random_machine(seed));
    plan.planner_config = {{"interval", "4"}, {"a \"quoted\" key", ""}};
    plan.predicted_step_seconds = 0.1 + 1e-17 * static_cast<double>(seed);
    plan.order_bound_seconds = 1.0 / 3;
    plan.lower_bound_seconds = 0.3 + 1e-17 * static_cast<double>(seed);
    if (seed % 3 == 0) plan.prices = StepPrices{{0.1, 0}, {{0.2, 0.3}, {0, 0}}, {{1, 0}, {0.5, 0.5}, {0, 1}}};
    if (seed % 4 == 0) plan.any_order_prices = StepPrices{{1e-12}, {{0, 0.1}}, {{1, 0}, {0.25, 0.75}}};
    for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
      if (graph.op(op).implementations.size() > 1) plan.ops[op].implementation = static_cast<std::int32_t>(seed % 2);
    }
    if (seed % 2 == 0) plan.raised_from = 12345 * kKiB;
    for (std::size_t i = 0; i < plan.migrations.size() && i < kCauseTexts.size(); ++i) {
      plan.migrations[static_cast<MigrationIndex>(i)].cause = kCauseTexts[i].cause;
    }
    ASSERT_TRUE(write_plan(folder_ / "plan.json", graph, plan).ok());
    EXPECT_TRUE(equal(plan, read_plan(folder_ / "plan.json").value()));
  }
}

TEST_F(PlanFileTest, KeepsPrices) {
  step_.plan.prices =
      StepPrices{{1e-9, 0, 0.1 + 0.2}, {{0, 1}, {0.25, 0.5}, {0, 0}}, {{1, 0}, {0, 0}, {0, 0}, {0.5, 0.5}}};
  nlohmann::json document = plan_to_json(step_.graph, step_.plan);
  EXPECT_EQ(plan_from_json(document)->prices, step_.plan.prices);
  EXPECT_FALSE(document["prices"].contains("reading"));
  step_.plan.prices->reading = {0, 0.25, 0.1 + 0.2};
  EXPECT_EQ(plan_from_json(plan_to_json(step_.graph, step_.plan))->prices, step_.plan.prices);
  document["prices"]["run"].push_back(0.5);
  EXPECT_THAT(plan_from_json(document).error().message, ::testing::HasSubstr("a slot has two prices"));
}

TEST_F(PlanFileTest, RefusesACauseThatThereIsNot) {
  json document = plan_to_json(step_.graph, step_.plan);
  EXPECT_FALSE(document["migrations"][0].contains("cause"));
  document["migrations"][0]["cause"] = "boredom";
  EXPECT_THAT(error_of(document), HasSubstr("there is no cause 'boredom'"));
}

TEST_F(PlanFileTest, WritesOneLineForEachEntry) {
  ASSERT_TRUE(write_plan(folder_ / "plan.json", step_.graph, step_.plan).ok());
  const std::string text = text_of(folder_ / "plan.json");
  EXPECT_THAT(text, HasSubstr("\n  {\"name\":\"x\",\"offset\":4096,\"ops\":[0,2],\"tensor\":1,\"tier\":0},\n"));
  EXPECT_THAT(text,
              HasSubstr("\n  {\"from\":2,\"issue_after\":1,\"name\":\"x\",\"needed_by\":3,\"tensor\":1,\"to\":3}\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2 + 13 + 3 * 2 + 5 + 7 + 2);
}

TEST_F(PlanFileTest, LeavesNothingBesideThePlan) {
  ASSERT_TRUE(write_plan(folder_ / "plan.json", step_.graph, step_.plan).ok());
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) files += entry.exists() ? 1 : 0;
  EXPECT_EQ(files, 1);
}

TEST_F(PlanFileTest, KeepsTheOldPlanWhenWritingFails) {
  ASSERT_TRUE(write_plan(folder_ / "plan.json", step_.graph, step_.plan).ok());
  const std::string before = text_of(folder_ / "plan.json");
  rlimit old_limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100, old_limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  step_.plan.planner = "another";
  const Status status = write_plan(folder_ / "plan.json", step_.graph, step_.plan);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  std::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_THAT(status.error().message, HasSubstr("plan.json"));
  EXPECT_EQ(text_of(folder_ / "plan.json"), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator{}), 1);
}

TEST_F(PlanFileTest, NamesThePathItCannotWriteOrRead) {
  const Status status = write_plan(folder_ / "missing" / "plan.json", step_.graph, step_.plan);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  const Result<Plan> plan = read_plan(folder_ / "none.json");
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kIo);
  EXPECT_THAT(plan.error().message, HasSubstr("none.json"));
}

TEST_F(PlanFileTest, RefusesAFileCutShortAnywhere) {
  ASSERT_TRUE(write_plan(folder_ / "plan.json", step_.graph, step_.plan).ok());
  const std::string whole = text_of(folder_ / "plan.json");
  for (std::size_t length = 0; length + 2 < whole.size(); length += 13) {
    SCOPED_TRACE(length);
    std::ofstream(folder_ / "cut.json") << whole.substr(0, length);
    const Result<Plan> plan = read_plan(folder_ / "cut.json");
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.error().code, ErrorCode::kBadInput);
    EXPECT_THAT(plan.error().message, HasSubstr("cut.json"));
    EXPECT_THAT(plan.error().message, HasSubstr("cut short"));
  }
}

const std::string kNoPlanFile = "/format: not a plan file: expected \"sluice-plan\", found none";

TEST_F(PlanFileTest, NamesEveryMissingKey) {
  const json whole = plan_to_json(step_.graph, step_.plan);
  for (const auto& [key, value] : whole.items()) {
    json document = whole;
    document.erase(key);
    const bool other_file = key == "format";
    EXPECT_EQ(error_of(document), other_file ? kNoPlanFile : "/" + key + ": missing");
  }
  for (const char* list : {"ops", "residencies", "migrations"}) {
    for (const auto& [key, value] : whole[list][1].items()) {
      if (key == "name") continue;  // for people; not read
      json document = whole;
      document[list][1].erase(key);
      EXPECT_EQ(error_of(document), std::string("/") + list + "/1/" + key + ": missing");
    }
  }
}

TEST_F(PlanFileTest, NamesWhatIsWrongWithARaisedBudget) {
  step_.plan.raised_from = 4096;
  json document = plan_to_json(step_.graph, step_.plan);
  ASSERT_EQ(error_of(document), "no error");
  document["raised_from"] = "much";
  EXPECT_EQ(error_of(document), "/raised_from: expected a whole number, found \"much\"");
}

TEST_F(PlanFileTest, ARunUnderAPolicyIsNoPlan) {
  json document = plan_to_json(step_.graph, step_.plan);
  document["policy"] = {{"name", "um"}, {"settings", json::array()}, {"fast_bytes", 4096}};
  EXPECT_THAT(error_of(document), HasSubstr("/policy: a run under a policy"));
}

// Readers of version 2 know no policies and would run such a plan as a planner's; and theirs were text.
TEST_F(PlanFileTest, PoliciesNeedVersion3) {
  json document = plan_to_json(step_.graph, step_.plan);
  document["version"] = 2;
  EXPECT_EQ(error_of(document), "no error");
  document["planner_config"].push_back({"fast memory of the policy", "4096"});
  EXPECT_THAT(error_of(document), HasSubstr("/planner_config: a plan under a policy, in the form of version 2"));
}

// Readers of version 5 know one processor and would run every op there.
TEST_F(PlanFileTest, KeepsProcessorsWhichNeedVersion6) {
  step_.plan.ops[3].processor = 1;
  json document = plan_to_json(step_.graph, step_.plan);
  EXPECT_FALSE(document["ops"][2].contains("processor"));
  const Result<Plan> read = plan_from_json(document);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(equal(*read, step_.plan));
  document["version"] = 5;
  EXPECT_THAT(error_of(document), HasSubstr("/ops: version 5 has no processors: plan again"));
}

// Readers of version 4 know no encodings and would take encoded bytes for the tensor's.
TEST_F(PlanFileTest, KeepsEncodingsWhichNeedVersion5) {
  testing::TinyStep tiny = testing::tiny_step();
  json document = plan_to_json(tiny.graph, tiny.plan);
  EXPECT_FALSE(document["residencies"][2].contains("encoding"));
  document["version"] = 4;
  EXPECT_EQ(error_of(document), "no error");

  tiny.plan.residencies[testing::TinyStep::kXFile].encoding = memory::Encoding::kZeroValue;
  document = plan_to_json(tiny.graph, tiny.plan);
  const Result<Plan> read = plan_from_json(document);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(equal(*read, tiny.plan));
  document["version"] = 4;
  EXPECT_THAT(error_of(document), HasSubstr("/residencies: version 4 has no encodings: plan again"));
  document["version"] = 5;
  document["residencies"][2]["encoding"] = "zip";
  EXPECT_THAT(error_of(document), HasSubstr("/residencies/2/encoding: no encoding 'zip'; there is zero-value"));
  document["residencies"][2]["encoding"] = 1;
  EXPECT_THAT(error_of(document), HasSubstr("/residencies/2/encoding: expected"));
}

TEST_F(PlanFileTest, KeepsASchedule) {
  const graph::Graph graph = testing::random_graph(7);
  const std::vector<graph::OpIndex> schedule = testing::random_schedule(graph, 7);
  const graph::Rescheduled step = graph::reschedule(graph, schedule).value();
  Plan plan = testing::random_plan(7, step.graph, testing::random_machine(7));
  plan.schedule = schedule;
  plan.graph_fingerprint = graph.fingerprint();
  ASSERT_TRUE(write_plan(folder_ / "plan.json", graph, plan).ok());
  const Result<Plan> read = read_plan(folder_ / "plan.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(equal(*read, plan));

  json document = plan_to_json(graph, plan);
  document["version"] = 3;
  EXPECT_THAT(error_of(document), HasSubstr("/schedule: version 3 has no schedules: plan again"));
  document["version"] = kPlanFormatVersion;
  document["schedule"][2] = "first";
  EXPECT_THAT(error_of(document), HasSubstr("/schedule/2: expected"));
}

TEST_F(PlanFileTest, KeepsStitches) {
  step_.plan.stitches = {{20480, {{0, 4096}, {12288, 20480}}}, {40960, {{8192, 12288}}}};
  ASSERT_TRUE(write_plan(folder_ / "plan.json", step_.graph, step_.plan).ok());
  const Result<Plan> read = read_plan(folder_ / "plan.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(equal(*read, step_.plan));

  json document = plan_to_json(step_.graph, step_.plan);
  document["version"] = 6;
  EXPECT_THAT(error_of(document), HasSubstr("/stitches: version 6 has no stitches: plan again"));
  document["version"] = kPlanFormatVersion;
  document["stitches"][0]["memory"][1] = {1, 2, 3};
  EXPECT_THAT(error_of(document), HasSubstr("/stitches/0/memory: expected [first byte, one past last byte]"));
  document["stitches"][0]["memory"] = "all";
  EXPECT_THAT(error_of(document), HasSubstr("/stitches/0/memory: expected"));
}

TEST_F(PlanFileTest, NamesEveryWrongType) {
  const json whole = plan_to_json(step_.graph, step_.plan);
  for (const auto& [key, value] : whole.items()) {
    json document = whole;
    document[key] = true;
    EXPECT_THAT(error_of(document), HasSubstr("/" + key + ": expected")) << key;
  }
}

TEST_F(PlanFileTest, NamesThePlaceOfAWrongValue) {
  const json whole = plan_to_json(step_.graph, step_.plan);
  const auto with = [&](const char* pointer, const json& value) {
    json document = whole;
    document[json::json_pointer(pointer)] = value;
    return error_of(document);
  };
  EXPECT_EQ(with("/residencies/3/offset", "far"), "/residencies/3/offset: expected a whole number, found \"far\"");
  EXPECT_EQ(with("/residencies/3/offset", 0.5), "/residencies/3/offset: expected a whole number, found 0.5");
  EXPECT_EQ(with("/residencies/3/ops", {1, 2, 3}), "/residencies/3/ops: expected [first op, one past last op]");
  EXPECT_EQ(with("/migrations/0/to", 3000000000), "/migrations/0/to: expected a number within range, found 3000000000");
  EXPECT_EQ(with("/residencies/0/offset", 18446744073709551615u),
            "/residencies/0/offset: expected a number within range, found 18446744073709551615");
  EXPECT_EQ(with("/ops/2/operand_tiers/1", nullptr), "/ops/2/operand_tiers/1: expected a whole number, found null");
  EXPECT_EQ(with("/planner_config/0", {"one"}), "/planner_config/0: expected [key, value], found [\"one\"]");
  EXPECT_EQ(with("/format", "another"), "/format: not a plan file: expected \"sluice-plan\", found \"another\"");
  EXPECT_THAT(with("/version", 9),
              HasSubstr("/version: found 9, and this sluice reads 1 to 8: the file is of a newer sluice; plan again"));
  EXPECT_THAT(with("/version", 1), "no error") << "before small tensors could share pages";
  EXPECT_EQ(error_of(json::array()), kNoPlanFile);
}

TEST_F(PlanFileTest, IsWhatTheDocumentShows) {
  const auto document = std::filesystem::path(SLUICE_SOURCE_FOLDER) / "docs/plan-format.md";
  step_.plan.predicted_step_seconds = 2.6384e-5;
  step_.plan.order_bound_seconds = 1.5e-5;
  step_.plan.lower_bound_seconds = 1.25e-5;
  ASSERT_TRUE(write_plan(folder_ / "plan.json", step_.graph, step_.plan).ok());
  EXPECT_THAT(text_of(document), HasSubstr("```json\n" + text_of(folder_ / "plan.json") + "```"));
}

TEST_F(PlanFileTest, TakesTheBoundOfEarlierVersionsForThatOfThePlansOrder) {
  step_.plan.order_bound_seconds = 1.5e-5;
  json document = plan_to_json(step_.graph, step_.plan);
  document["version"] = 7;
  document["lower_bound_seconds"] = 2e-5;
  document.erase("order_bound_seconds");
  const Plan plan = plan_from_json(document).value();
  EXPECT_DOUBLE_EQ(plan.order_bound_seconds, 2e-5);
  EXPECT_DOUBLE_EQ(plan.lower_bound_seconds, 0);
}

TEST_F(PlanFileTest, IgnoresKeysItDoesNotKnow) {
  json document = plan_to_json(step_.graph, step_.plan);
  document["note"] = "from a later release";
  EXPECT_TRUE(plan_from_json(document).ok());
}

}  // namespace
}  // namespace sluice::plan
