// Every command's --json document against docs/json.md, both ways: each field is on the page, and each field of the page is
// in a document.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command_runner.hpp"
#include "tests/cli/documented_fields.hpp"

namespace sluice {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::IsEmpty;

constexpr const char* kPage = SLUICE_SOURCE_FOLDER "/docs/json.md";

const std::vector<std::string> kTiny{"resnet20", "--batch", "2", "--threads", "1", "--slow", "optane"};

// The tables that documents of a command are made of.
using Tables = std::vector<std::string>;

class JsonDocumentsTest : public ::testing::Test {
 protected:
  // Runs it and holds its document against the tables.
  json run(std::vector<std::string> arguments, const Tables& tables, int exit_code = 0) {
    const std::string path = folder_.file("out.json");
    const std::string command = arguments.front();
    arguments.insert(arguments.end(), {"--json", path});
    const CommandResult result = run_sluice(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.errors;
    const json document = json::parse(read_text(path));
    EXPECT_EQ(document["format"], "sluice-json");
    EXPECT_EQ(document["version"], 1);
    EXPECT_EQ(document["command"], command);
    EXPECT_THAT(check_fields(document, fields_of(tables), "stands alone"), IsEmpty()) << command;
    names_.merge(field_names(document));
    return document;
  }
  json tiny(const std::string& command, const std::vector<std::string>& more, const Tables& tables) {
    std::vector<std::string> arguments{command};
    arguments.insert(arguments.end(), kTiny.begin(), kTiny.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments, tables);
  }
  static std::vector<DocumentedField> fields_of(const Tables& tables) {
    std::vector<DocumentedField> all = read_fields(kPage, "every document");
    for (const std::string& table : tables) {
      const std::vector<DocumentedField> fields = read_fields(kPage, table);
      EXPECT_FALSE(fields.empty()) << table;
      all.insert(all.end(), fields.begin(), fields.end());
    }
    return all;
  }
  // Of all documents so far; `but`: begins of names that need more than a test has (processes, processors).
  void expect_all_seen(const Tables& tables, const std::vector<std::string>& but = {}) const {
    for (const DocumentedField& field : fields_of(tables)) {
      const std::string name = field.name();
      const bool excused = std::ranges::any_of(but, [&](const std::string& begin) { return name.starts_with(begin); });
      if (!excused) {
        EXPECT_THAT(names_, Contains(name));
      }
    }
  }

  TemporaryFolder folder_;
  std::set<std::string> names_;
};

const std::vector<std::string> kOneProcessor{"run.processors"};

TEST_F(JsonDocumentsTest, Machine) {
  run({"machine", "--slow", "optane", "--processors", "device:1"}, {"machine", "run"});
  expect_all_seen({"machine", "run"});
}

TEST_F(JsonDocumentsTest, Lists) {
  for (const std::string command : {"models", "planners", "man"}) {
    run({command}, {command});
    expect_all_seen({command});
  }
  run({"completion", "bash"}, {"completion"});
  expect_all_seen({"completion"});
}

TEST_F(JsonDocumentsTest, Doctor) {
  run({"doctor"}, {"doctor", "run"});
  expect_all_seen({"doctor"});
}

TEST_F(JsonDocumentsTest, Inspect) {
  tiny("inspect", {}, {"inspect", "run"});
  expect_all_seen({"inspect"});
}

// In a page of fast memory no page can be moved.
TEST_F(JsonDocumentsTest, Characterize) {
  const Tables tables{"characterize", "run"};
  tiny("characterize", {}, tables);
  tiny("characterize", {"--no-accesses", "--fast", "1%"}, tables);
  expect_all_seen(tables, kOneProcessor);
}

TEST_F(JsonDocumentsTest, Profile) {
  const Tables tables{"profile", "run"};
  tiny("profile", {"--placements", "--implementations"}, tables);
  tiny("profile", {"--accesses"}, tables);
  run({"profile", "squeezenet1_1", "--image-size", "64", "--batch", "2", "--threads", "1", "--encodings"}, tables);
  expect_all_seen(tables, kOneProcessor);
}

TEST_F(JsonDocumentsTest, PlanVerifyAndExplain) {
  const Tables tables{"plan", "plan summary", "run"};
  const std::string plan = folder_.file("plan.json");
  tiny("plan", {"--fast", "60%", "-o", plan}, tables);
  tiny("plan", {"--fast", "90%", "--planner", "sentinel"}, tables);
  run({"plan", "resnet20", "--batch", "2", "--threads", "1", "--fast", "80%", "--link-bandwidth", "0.05GB/s",
       "--planner", "swapadvisor:generations=4:patience=0"},
      tables);
  // Memory that is worth something however fast this machine computes.
  run({"plan", "resnet20", "--batch", "2", "--threads", "1", "--fast", "40%", "--link-bandwidth", "0.05GB/s",
       "--planner", "sentinel"},
      tables);
  expect_all_seen(tables, kOneProcessor);

  std::vector<std::string> about{"verify", plan};
  about.insert(about.end(), kTiny.begin(), kTiny.end());
  run(about, {"verify", "run"});
  about[2] = "plain20";
  run(about, {"verify", "run"}, 1);
  expect_all_seen({"verify"});
  about = {"explain", plan, "fc.weight"};
  about.insert(about.end(), kTiny.begin(), kTiny.end());
  run(about, {"explain", "run"});
  expect_all_seen({"explain"});
}

TEST_F(JsonDocumentsTest, Simulate) {
  const Tables tables{"simulate", "plan summary", "locality", "run"};
  tiny("simulate", {"--fast", "60%", "--planner", "sentinel"}, tables);
  tiny("simulate", {"--fast", "60%", "--planner", "ial"}, tables);
  tiny("simulate", {"--fast", "90%", "--planner", "dtr"}, tables);
  expect_all_seen({"simulate", "locality"});
}

// Accuracy is that of images with a validation split, replans of a machine that drifts, ranks of several processes.
TEST_F(JsonDocumentsTest, Train) {
  const Tables tables{"train", "train with one graph", "plan summary", "locality", "run"};
  tiny("train", {"--fast", "60%", "--planner", "sentinel", "--steps", "12"}, tables);
  std::ofstream(folder_.file("text")) << std::string(4000, 'x');
  run({"train", "gpt2_small", "--batch", "2", "--threads", "1", "--classes", "256", "--sequence", "16", "--width", "64",
       "--depth", "1", "--steps", "2", "--data", "tokens:" + folder_.file("text")},
      tables);
  expect_all_seen({"train", "train with one graph"}, {"replans[]", "ranks", "validation[].accuracy"});
}

TEST_F(JsonDocumentsTest, TrainWithSequences) {
  run({"train", "lstm", "--batch", "2", "--threads", "1", "--sequences", "20,25", "--width", "64", "--classes", "300",
       "--fast", "60%", "--steps", "3"},
      {"train", "train with sequences", "run"});
  expect_all_seen({"train with sequences"});
}

TEST_F(JsonDocumentsTest, Sweep) {
  const Tables tables{"sweep", "run"};
  const auto sweep = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"sweep", "resnet20:2", "--threads", "1", "--slow", "optane", "--planners", "sentinel"});
    run(more, tables);
  };
  sweep({"--fast", "1%,60%", "--run", "--steps", "3"});
  sweep({"--fast", "60%,100%", "--price", "fast=2,slow=1"});
  sweep({"--no-loss", "20%"});
  const std::string found = "models[].no_loss[].";  // feasible, and not run
  expect_all_seen(tables, {"run.processors", found + "infeasible", found + "smallest_feasible_bytes",
                           found + "bound_slowdown", found + "measured"});
}

TEST_F(JsonDocumentsTest, MaxBatch) {
  run({"max-batch", "resnet20", "--threads", "1", "--slow", "optane", "--fast", "8MiB", "--planner", "sentinel"},
      {"max-batch", "run"});
  expect_all_seen({"max-batch"});
}

TEST_F(JsonDocumentsTest, AllocateAndGradients) {
  run({"allocate", SLUICE_SOURCE_FOLDER "/examples/allocation.csv"}, {"allocate", "run"});
  expect_all_seen({"allocate"});
  run({"gradients", "resnet20", "--batch", "2", "--threads", "1", "-o", folder_.file("gradients")}, {"gradients"});
  expect_all_seen({"gradients"});
}

// Whoever adds a command documents what it writes.
TEST_F(JsonDocumentsTest, ThePageHasEveryCommand) {
  const std::vector<std::string> tables = read_tables(kPage);
  const json tree = json::parse(run_sluice({"man", "--json", "-"}).output);
  for (const json& command : tree["commands"]) {
    const std::string name = command["name"];
    const bool own_page = name == "compare" || name == "report";
    if (!own_page) {
      EXPECT_THAT(tables, Contains(name));
    }
    bool json_option = false;
    for (const json& option : command["options"]) json_option |= option["names"] == json({"--json"});
    EXPECT_TRUE(json_option) << name;
  }
}

}  // namespace
}  // namespace sluice
