// The keys that programs rely on in --json output, the trace and the loss lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/cli/command_runner.hpp"

namespace sluice {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class JsonOutputTest : public ::testing::Test {
 protected:
  // Runs on a small model and returns the JSON that was written.
  json run(std::vector<std::string> arguments) {
    const std::string path = folder_.file("out.json");
    arguments.insert(arguments.end(), {"--json", path});
    result_ = run_sluice(arguments);
    EXPECT_EQ(result_.exit_code, 0) << result_.errors;
    return json::parse(read_text(path));
  }
  static void expect_keys(const json& object, const std::set<std::string>& keys) {
    for (const std::string& key : keys) EXPECT_TRUE(object.contains(key)) << key << " in " << object.dump(2);
  }

  static void expect_locality(const json& locality) {
    expect_keys(locality, {"by_bytes", "by_objects", "requested_bytes", "found_bytes", "requested", "found"});
    EXPECT_GT(locality["by_bytes"].get<double>(), 0);
    EXPECT_LE(locality["by_bytes"].get<double>(), 1);
    EXPECT_GT(locality["series"].size(), 1U);
    EXPECT_LE(locality["series"].size(), 100U);
  }

  const std::vector<std::string> small_{"--batch", "2", "--threads", "1"};
  std::vector<std::string> small(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), small_.begin(), small_.end());
    return arguments;
  }
  TemporaryFolder folder_;
  CommandResult result_;
};

TEST_F(JsonOutputTest, Machine) {
  const json document = run({"machine", "--slow", "optane"});
  expect_keys(document, {"run", "cpu", "threads", "tiers", "links", "fingerprint"});
  EXPECT_TRUE(document["run"]["emulated"].get<bool>());
  ASSERT_EQ(document["tiers"].size(), 2U);
  expect_keys(document["tiers"][1], {"name", "kind", "capacity_bytes", "read_bandwidth", "write_bandwidth",
                                     "latency_seconds", "addressable", "emulated", "provenance"});
  ASSERT_EQ(document["links"].size(), 2U);
  expect_keys(document["links"][0], {"from", "to", "bandwidth", "shared_bandwidth", "latency_seconds", "request_bytes",
                                     "queue_depth", "throttled", "provenance"});
  EXPECT_THAT(result_.output, HasSubstr("(emulated)"));
}

TEST_F(JsonOutputTest, PlanAndSimulate) {
  const std::set<std::string> keys{"run",       "model",        "batch",          "planner",          "fast_only_bytes",
                                   "budgets",   "arena_bytes",  "migrations",     "fast_arena_bytes", "bytes_in",
                                   "bytes_out", "predicted_ms", "lower_bound_ms", "order_bound_ms",   "certified"};
  const json planned = run(small({"plan", "resnet20", "--fast", "50%"}));
  expect_keys(planned, keys);
  expect_keys(planned["under_noise"], {"op", "compute", "link", "samples", "median_ms", "percentile_90_ms"});
  EXPECT_GE(planned["under_noise"]["percentile_90_ms"], planned["under_noise"]["median_ms"]);
  EXPECT_LE(planned["fast_arena_bytes"], planned["budgets"][0]);
  EXPECT_LE(planned["budgets"][0].get<double>(), 0.5 * planned["fast_only_bytes"].get<double>());
  const json simulated = run(small({"simulate", "resnet20", "--fast", "50%", "--trace", folder_.file("trace.json")}));
  expect_keys(simulated, keys);
  expect_keys(simulated, {"stall_ms", "locality", "parts_ms"});
  expect_locality(simulated["locality"]);
  EXPECT_THAT(result_.output, HasSubstr("operands found fast"));
  EXPECT_GT(planned["lower_bound_ms"], 0);
  EXPECT_GE(planned["order_bound_ms"].get<double>(), planned["lower_bound_ms"].get<double>());
  EXPECT_GE(simulated["predicted_ms"].get<double>(), simulated["lower_bound_ms"].get<double>() * 0.999);
  EXPECT_TRUE(json::parse(read_text(folder_.file("trace.json"))).contains("traceEvents"));
}

TEST_F(JsonOutputTest, PlanningCutShortIsSaid) {
  run(small({"plan", "resnet20", "--fast", "40%", "--planning-time", "1e-9"}));
  EXPECT_THAT(result_.errors, HasSubstr("the search for a plan was cut short after 0.0 s"));
  EXPECT_THAT(result_.output, HasSubstr("stopped_early"));
  for (const char* planner : {"swapadvisor", "checkmate"}) {
    SCOPED_TRACE(planner);
    run(small({"plan", "resnet20", "--fast", "70%", "--planner", planner, "--planning-time", "1e-9"}));
    EXPECT_THAT(result_.output, HasSubstr("stopped_early"));
  }
}

// In hardly more than home can do with: in 70 % a policy of the first draw fitted once, by op times of a busy machine.
TEST_F(JsonOutputTest, PlanningCutShortBeforeAPlanIsAnError) {
  const CommandResult result = run_sluice(small({"plan", "resnet20", "--fast", "63%", "--planner", "home",
                                                 "--planning-time", "1e-9", "--spill-dir", folder_.path().string()}));
  EXPECT_EQ(result.exit_code, 2) << "a time that is too short is asked for, not Ctrl-C";
  EXPECT_THAT(result.errors, HasSubstr("home was interrupted before it had a plan for resnet20"));
}

TEST_F(JsonOutputTest, PlansHaveTheConvergenceOfTheirSearch) {
  for (const char* planner : {"home:particles=30:iterations=8:patience=0", "swapadvisor:generations=8:patience=0"}) {
    SCOPED_TRACE(planner);
    const std::string picture = folder_.file("convergence.svg");
    const json planned = run(small({"plan", "resnet20", "--fast", "80%", "--link-bandwidth", "0.05GB/s", "--planner",
                                    planner, "--svg-convergence", picture}));
    const json& rounds = planned["convergence"];
    ASSERT_GE(rounds.size(), 2U);
    for (const json& round : rounds) expect_keys(round, {"feasible", "worst_ms", "average_ms", "best_ms"});
    EXPECT_LE(rounds.back()["best_ms"], rounds.back()["average_ms"]);
    EXPECT_LE(rounds.back()["average_ms"], rounds.back()["worst_ms"]);
    EXPECT_THAT(read_text(picture), HasSubstr("How the search of "));
  }
  EXPECT_TRUE(run(small({"plan", "resnet20", "--fast", "60%", "--planner", "sentinel"}))["convergence"].empty());
}

TEST_F(JsonOutputTest, APictureOfNoSearchIsRefused) {
  const std::string picture = folder_.file("convergence.svg");
  const CommandResult result =
      run_sluice(small({"plan", "resnet20", "--fast", "60%", "--planner", "sentinel", "--svg-convergence", picture}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("--svg-convergence: sentinel had no rounds of a search to draw"));
  EXPECT_FALSE(std::filesystem::exists(picture));
}

TEST_F(JsonOutputTest, Profile) {
  const json document = run(small({"profile", "resnet20"}));
  expect_keys(document, {"run", "model", "graph_fingerprint", "provenance", "ops"});
  for (const json& op : document["ops"]) EXPECT_GT(op["seconds"].get<double>(), 0) << op;
}

TEST_F(JsonOutputTest, TrainWithTraceAndLosses) {
  const json document = run(small({"train", "resnet20", "--fast", "60%", "--steps", "3", "--losses",
                                   folder_.file("losses"), "--trace", folder_.file("trace.json")}));
  expect_keys(document, {"step_ms", "stall_ms", "final_loss", "parameter_hash", "peak_rss_bytes", "next_step"});
  expect_locality(document["locality"]);
  EXPECT_THAT(result_.output, HasSubstr("operands found fast (last step)"));
  std::istringstream lines(read_text(folder_.file("losses")));
  std::int64_t step = 0;
  json last;
  for (std::string line; std::getline(lines, line); ++step) {
    last = json::parse(line);
    EXPECT_EQ(last["step"], step);
    expect_keys(last["overlap"], {"busy_ms", "critical", "transfer_wait_ms", "processor_wait_ms"});
  }
  EXPECT_EQ(step, 3);
  EXPECT_EQ(last["loss"], document["final_loss"]);
  const json trace = json::parse(read_text(folder_.file("trace.json")));
  std::set<std::string> categories;
  std::set<std::string> phases;
  for (const json& event : trace["traceEvents"]) {
    phases.insert(event["ph"]);
    if (event.contains("cat")) categories.insert(event["cat"]);
  }
  EXPECT_THAT(phases, ::testing::ElementsAre("C", "M", "X"));
  EXPECT_THAT(categories, ::testing::IsSupersetOf({"op", "prefetch", "eviction"}));
}

TEST_F(JsonOutputTest, RaisedBudgetsAreSaid) {
  const json document = run(small(
      {"compare", "resnet20", "--fast", "64KiB", "--smallest-feasible", "--planners", "on-demand", "--steps", "3"}));
  const json& row = document["results"][1];
  EXPECT_TRUE(row["budget_raised"].get<bool>());
  EXPECT_EQ(row["asked_budget_bytes"], 65536);
  EXPECT_GT(row["fast_budget_bytes"], 65536);
  EXPECT_LE(row["fast_arena_bytes"], row["fast_budget_bytes"]);
  EXPECT_FALSE(document["results"][0]["budget_raised"].get<bool>());
  EXPECT_THAT(result_.output, HasSubstr("note: * on-demand cannot do with the 64.0 KiB asked for"));
}

// Half as long again is allowed, so that something is found however fast the disk is.
TEST_F(JsonOutputTest, BudgetsAreFoundForALoss) {
  const json planned = run(small({"plan", "resnet20", "--fast", "auto:50%", "--planner", "sentinel"}));
  EXPECT_LE(planned["predicted_loss"].get<double>(), 0.5 + 1e-6);
  EXPECT_THAT(result_.errors, HasSubstr("note: --fast auto:50%: "));
  const json compared =
      run(small({"compare", "resnet20", "--fast", "auto:50%", "--planners", "fast-only,sentinel", "--steps", "3"}));
  EXPECT_LE(compared["results"][1]["asked_budget_bytes"], compared["fast_only_bytes"]);
  EXPECT_THAT(result_.errors, HasSubstr("is the least with which sentinel is predicted"));
}

TEST_F(JsonOutputTest, SentinelsPlansNameTheBoundOnFastMemory) {
  const json planned = run(small({"plan", "resnet20", "--fast", "90%", "--planner", "sentinel"}));
  expect_keys(planned["fast_memory_bound"], {"bytes", "short_lived_peak_bytes", "largest_long_lived"});
  EXPECT_EQ(planned["below_fast_memory_bound"], planned["budgets"][0] < planned["fast_memory_bound"]["bytes"]);
  EXPECT_GE(planned["predicted_loss"].get<double>(), -1e-9);
  EXPECT_THAT(result_.output, HasSubstr("bound on fast"));
  EXPECT_FALSE(run(small({"plan", "resnet20", "--planner", "on-demand"})).contains("fast_memory_bound"));
}

TEST_F(JsonOutputTest, LanguageModelWithAdamAndItsData) {
  std::ofstream(folder_.file("text")) << std::string(4000, 'x');
  const json document = run(small({"train", "gpt2_small", "--classes", "256", "--sequence", "16", "--width", "64",
                                   "--depth", "1", "--optimizer", "adamw", "--steps", "4", "--data",
                                   "tokens:" + folder_.file("text"), "--validate-every", "2"}));
  ASSERT_EQ(document["validation"].size(), 2U);
  expect_keys(document["validation"][0], {"step", "loss", "perplexity", "predictions", "batches"});
  EXPECT_EQ(document["validation"][0]["step"], 2);
  EXPECT_EQ(document["validation"][1]["step"], 4);
  EXPECT_LT(document["validation"][1]["loss"], document["validation"][0]["loss"]);
  EXPECT_THAT(result_.output, HasSubstr("tokens [2, 16] of 256"));
  EXPECT_THAT(result_.output, HasSubstr("validation: perplexity"));
}

// Five lengths and a sixth in the bucket of 25.
TEST_F(JsonOutputTest, LengthsThatChangeBetweenSteps) {
  const auto train = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"train",   "lstm", "--sequences", "20-40:5,26",
                                       "--width", "64",   "--classes",   "300",
                                       "--steps", "24",   "--losses",    folder_.file("losses")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(small(arguments));
  };
  const json reference = train({"--planner", "fast-only"});
  const std::string reference_losses = read_text(folder_.file("losses"));
  const json document = train({"--fast", "60%"});
  EXPECT_EQ(document["parameter_hash"], reference["parameter_hash"]);
  EXPECT_EQ(document["final_loss"], reference["final_loss"]);
  expect_keys(document, {"run", "model", "step_ms", "variants", "variant_costs"});
  ASSERT_EQ(document["variants"].size(), 6U);
  std::int64_t steps = 0;
  for (const json& variant : document["variants"]) {
    EXPECT_EQ(variant["profile"], variant["profiled"] == variant["variant"] ? "measured" : "estimated");
    EXPECT_EQ(variant["plan"]["planner"], "joint");
    EXPECT_EQ(variant["plan"]["budgets"][0], document["variants"][0]["plan"]["budgets"][0]);
    steps += variant["steps"].get<std::int64_t>();
  }
  EXPECT_EQ(steps, 24);
  EXPECT_EQ(document["variant_costs"]["profiles_measured"], 5);
  EXPECT_EQ(document["variant_costs"]["profiles_estimated"], 1);
  EXPECT_EQ(document["variant_costs"]["plans"], 6);
  EXPECT_GT(document["variant_costs"]["switches"], 5);
  std::istringstream lines(read_text(folder_.file("losses")));
  std::istringstream expected(reference_losses);
  for (std::string line, other; std::getline(lines, line) && std::getline(expected, other);) {
    EXPECT_EQ(json::parse(line)["loss"], json::parse(other)["loss"]);
    EXPECT_EQ(json::parse(line)["variant"], json::parse(other)["variant"]);
  }
  EXPECT_THAT(result_.output, HasSubstr("estimated from size 2"));
}

TEST_F(JsonOutputTest, ThrottledLinksAreShownAsEmulated) {
  const json document = run(small({"compare", "resnet20", "--fast", "60%", "--planners", "sentinel", "--steps", "3",
                                   "--link-bandwidth", "200MB/s"}));
  EXPECT_TRUE(document["run"]["emulated"].get<bool>());
  EXPECT_THAT(result_.output, HasSubstr("emulated"));
}

}  // namespace
}  // namespace sluice
