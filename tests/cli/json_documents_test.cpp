// Every command's --json document against docs/json.md, both ways: each field is on the page, and each field of the page is
// in a document.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/cli/command_runner.hpp"
#include "tests/cli/documented_fields.hpp"

namespace sluice::tests {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Fields = std::vector<DocumentedField>;

const std::map<std::string, Fields>& tables() {
  static const auto page = read_tables(SLUICE_SOURCE_FOLDER "/docs/json.md");
  return page;
}

Fields fields_of(const Words& names) {
  Fields all;
  for (const std::string& name : names) {
    const auto found = tables().find(name);
    EXPECT_NE(found, tables().end()) << name;
    if (found != tables().end()) all.insert(all.end(), found->second.begin(), found->second.end());
  }
  return all;
}

class JsonDocumentsTest : public ::testing::Test {
 protected:
  // Calls it and holds its document against its table and `more` ones.
  json call(const Words& arguments, const Words& more = {}, int exit_code = 0) {
    json document = document_of(arguments, exit_code);
    hold(document, arguments.front(), more);
    return document;
  }
  void hold(const json& document, const std::string& command, const Words& more = {}) {
    EXPECT_EQ(document["format"], "sluice-json");
    EXPECT_EQ(document["version"], 2);
    EXPECT_EQ(document["command"], command);
    const bool failed = document.contains("error");
    const Words names = joined({"every document", failed ? "an error" : command}, more);
    EXPECT_THAT(check_fields(document, fields_of(names), "infeasible"), IsEmpty()) << command;
    names_.merge(field_names(document));
  }
  // In the documents so far; `but`: begins of names that need more than a test has (processes, processors).
  void expect_all_seen(const Words& names, const Words& but = {"run.processors"}) const {
    Words missing;
    for (const DocumentedField& field : fields_of(names)) {
      const std::string name = field.name();
      const bool excused = names_.contains(name) ||
                           std::ranges::any_of(but, [&](const std::string& begin) { return name.starts_with(begin); });
      if (!excused) missing.push_back(name);
    }
    EXPECT_THAT(missing, IsEmpty());
  }

  TemporaryFolder folder_;
  std::set<std::string> names_;
};

// Whoever adds a command documents what it writes.
TEST_F(JsonDocumentsTest, ThePageHasEveryCommand) {
  std::istringstream help(call_sluice({"--help"}).output);
  std::string line;
  while (std::getline(help, line) && line != "Subcommands:") continue;
  int commands = 0;
  for (; std::getline(help, line) && line.starts_with("  "); ++commands) {
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    const bool own_page = name == "report";
    EXPECT_TRUE(own_page || tables().contains(name)) << name;
    EXPECT_THAT(call_sluice({name, "--help"}).output, HasSubstr("--json"));
  }
  EXPECT_GT(commands, 15);
}

TEST_F(JsonDocumentsTest, Lists) {
  for (const std::string command : {"models", "planners"}) {
    call({command});
    expect_all_seen({command});
  }
  call({"doctor"});
  call({"completion", "bash"});
  call(tiny("inspect"));
  call({"allocate", SLUICE_SOURCE_FOLDER "/examples/allocation.csv"});
  call({"gradients", "resnet20", "--batch", "2", "--threads", "1", "-o", folder_.file("gradients")});
  expect_all_seen({"doctor", "completion", "inspect", "allocate", "gradients"}, {"run.processors", "run.links[]"});
}

TEST_F(JsonDocumentsTest, Machine) {
  const json machine = call({"machine", "--slow", "optane", "--processors", "device:1"});
  EXPECT_TRUE(machine["run"]["emulated"].get<bool>());
  EXPECT_EQ(machine["tiers"].size(), 2U);
  expect_all_seen({"machine"}, {});
}

// The papers have figures of ResNet-32; in a page of fast memory no page can be moved.
TEST_F(JsonDocumentsTest, Characterize) {
  call(tiny("characterize"));
  call(tiny("characterize", {"--no-accesses", "--fast", "1%"}));
  expect_all_seen({"characterize"});
}

TEST_F(JsonDocumentsTest, Profile) {
  call(tiny("profile", {"--placements", "--implementations"}));
  call(tiny("profile", {"--accesses"}));
  call({"profile", "squeezenet1_1", "--image-size", "64", "--batch", "2", "--threads", "1", "--slow", "optane",
        "--encodings"});
  expect_all_seen({"profile"});
}

// The last: memory that is worth something however fast this machine computes.
TEST_F(JsonDocumentsTest, PlanVerifyAndExplain) {
  const std::string plan = folder_.file("plan.json");
  const Words slow{"--link-bandwidth", "0.05GB/s"};
  const json planned = call(tiny("plan", {"--fast", "60%", "-o", plan}));
  EXPECT_LE(planned["under_noise"]["median_ms"], planned["under_noise"]["percentile_90_ms"]);
  EXPECT_LE(planned["lower_bound_ms"], planned["order_bound_ms"]);
  call(tiny("plan", joined(slow, {"--fast", "80%", "--planner", "swapadvisor:generations=4:patience=0"})));
  const json sentinel = call(tiny("plan", joined(slow, {"--fast", "40%", "--planner", "sentinel"})));
  EXPECT_EQ(sentinel["below_fast_memory_bound"], sentinel["budgets"][0] < sentinel["fast_memory_bound"]["bytes"]);
  expect_all_seen({"plan"});

  const Words sizes{"--batch", "2", "--threads", "1", "--slow", "optane"};
  call(joined({"verify", plan, "resnet20"}, sizes));
  call(joined({"verify", plan, "plain20"}, sizes), {}, 1);
  call(joined({"explain", plan, "fc.weight", "resnet20"}, sizes));
  expect_all_seen({"verify", "explain"});
}

TEST_F(JsonDocumentsTest, Simulate) {
  call(tiny("simulate", {"--fast", "60%", "--planner", "sentinel"}));
  call(tiny("simulate", {"--fast", "60%", "--planner", "ial"}));
  call(tiny("simulate", {"--fast", "90%", "--planner", "dtr"}));
  expect_all_seen({"simulate"}, {"run.processors", "fast_memory_bound", "below_fast_memory_bound"});
}

// Accuracy is that of images with a validation split, replans of a machine that drifts, ranks of several processes.
TEST_F(JsonDocumentsTest, Train) {
  call(tiny("train", {"--fast", "60%", "--planner", "sentinel", "--steps", "12"}), {"train with one graph"});
  std::ofstream(folder_.file("text")) << std::string(4000, 'x');
  const json text = call({"train",
                          "gpt2_small",
                          "--batch",
                          "2",
                          "--threads",
                          "1",
                          "--slow",
                          "optane",
                          "--classes",
                          "256",
                          "--sequence",
                          "16",
                          "--width",
                          "64",
                          "--depth",
                          "1",
                          "--optimizer",
                          "adamw",
                          "--steps",
                          "4",
                          "--data",
                          "tokens:" + folder_.file("text"),
                          "--validate-every",
                          "2"},
                         {"train with one graph"});
  ASSERT_EQ(text["validation"].size(), 2U);
  EXPECT_LT(text["validation"][1]["loss"], text["validation"][0]["loss"]);
  expect_all_seen({"train", "train with one graph"}, {"run.processors", "replans", "ranks", "validation[].accuracy"});
}

// 26 lies in the bucket of 25: its op times are scaled, not measured.
TEST_F(JsonDocumentsTest, TrainWithSequences) {
  const Words lengths{"train",       "lstm",        "--batch", "2",  "--threads", "1",   "--slow",  "optane",
                      "--sequences", "20,25,26,40", "--width", "64", "--classes", "300", "--steps", "16"};
  const Words tables{"train with sequences"};
  const json all = call(joined(lengths, {"--planner", "fast-only"}), tables);
  const json some = call(joined(lengths, {"--fast", "60%"}), tables);
  EXPECT_EQ(some["parameter_hash"], all["parameter_hash"]);
  EXPECT_EQ(some["variant_costs"]["profiles_estimated"], 1);
  expect_all_seen(joined(tables, {"train"}), {"run.processors", "validation[]"});
}

TEST_F(JsonDocumentsTest, SweepAndMaxBatch) {
  const Words sweep{"sweep", "resnet20:2", "--threads", "1", "--slow", "optane", "--planners", "sentinel"};
  call(joined(sweep, {"--fast", "1%,40%", "--price", "fast=2,slow=1"}));
  call(joined(sweep, {"--no-loss", "20%"}));
  const std::string found = "models[].no_loss[].";  // feasible, and not run
  expect_all_seen({"sweep"}, {"run.processors", "models[].points[].measured", found + "infeasible",
                              found + "smallest_feasible_bytes", found + "bound_slowdown", found + "measured"});
  const Words max_batch{"max-batch", "resnet20", "--threads", "1", "--slow", "optane", "--fast", "8MiB", "--planner"};
  const json alone = call(joined(max_batch, {"fast-only"}));
  const CommandResult none =
      call_sluice({"max-batch", "resnet20", "--threads", "1", "--slow", "optane", "--fast", "256KiB"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.errors, HasSubstr("cannot train a single sample in 256.0 KiB"));
  const json largest = call(joined(max_batch, {"sentinel", "--run", "--steps", "2"}));
  EXPECT_GT(largest["batch"], alone["batch"]) << "what moves trains larger batches";
  EXPECT_GT(largest["measured_ms"], 0);
  for (const json& trial : largest["trials"]) EXPECT_EQ(trial["fits"], trial["batch"] <= largest["batch"]) << trial;
  expect_all_seen({"max-batch"});
}

TEST_F(JsonDocumentsTest, ErrorsAboutRoomAreInBytes) {
  const Words plan = tiny("plan", {"--estimate", "--planner", "sentinel", "--fast"});
  const json error = call(joined(plan, {"262144"}), {}, 2)["error"];
  EXPECT_EQ(error["kind"], "none-found") << "which proves nothing";
  EXPECT_EQ(error["available_bytes"], 262144);
  const auto smallest = error["requested_bytes"].get<std::int64_t>();
  EXPECT_GT(smallest, 262144);
  EXPECT_EQ(call_sluice(joined(plan, {std::to_string(smallest)})).exit_code, 0);
  const json machine = call(tiny("plan", {"--fast", "4096GiB"}), {}, 2)["error"];
  EXPECT_EQ(machine["requested_bytes"], std::int64_t{4096} << 30);
  EXPECT_LT(machine["available_bytes"], machine["requested_bytes"]);
  const json other = call(tiny("plan", {"--sideways"}), {}, 2)["error"];
  EXPECT_EQ(other["kind"], "bad-input");
  EXPECT_TRUE(other["requested_bytes"].is_null());
}

TEST_F(JsonDocumentsTest, AFileThatIsThereStaysWhenACommandFails) {
  const std::string file = folder_.file("out.json");
  std::ofstream(file) << "results of an hour";
  EXPECT_EQ(call_sluice({"plan", "resnet21", "--json", file}).exit_code, 2);
  EXPECT_EQ(read_text(file), "results of an hour");
}

// The check itself: each of these must be found.
TEST_F(JsonDocumentsTest, AFieldThatIsMissingOrOfAnotherTypeWouldBeFound) {
  const Fields fields{{{"runs"}, "array"}, {{"runs", "[]", "ms"}, "number or null"}, {{"names"}, "string[] or absent"}};
  const auto faults = [&](const char* text) { return check_fields(json::parse(text), fields, "alone"); };
  EXPECT_THAT(faults(R"({"runs": [{"ms": 1.5}, {"ms": null}], "names": ["a"]})"), IsEmpty());
  EXPECT_THAT(faults(R"({"runs": [{}]})"), ElementsAre(".runs[].ms is missing"));
  EXPECT_THAT(faults(R"({"runs": [{"ms": "12"}]})"), ElementsAre(".runs[].ms is no number or null: \"12\""));
  EXPECT_THAT(faults(R"({"runs": [{"ms": 1, "speed": 1}]})"), ElementsAre(".runs[].speed is not documented"));
  EXPECT_THAT(faults(R"({"runs": [], "names": ["a", 1]})"), Not(IsEmpty()));
}

}  // namespace
}  // namespace sluice::tests
