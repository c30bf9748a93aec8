// sluice reproduce in checkouts of its own, with results that take no time: makes, goes on, says what is stale.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "sluice/testing/git_repository.hpp"
#include "tests/cli/command_runner.hpp"
#include "tests/cli/documented_fields.hpp"

namespace sluice {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

namespace fs = std::filesystem;

json entry(const std::string& name, const std::vector<std::string>& command) {
  return {{"name", name},
          {"how", "simulated"},
          {"minutes", 0.01},
          {"measures", {"code/measured.cpp"}},
          {"command", command}};
}

json shell_entry(const std::string& name, const std::string& script) { return entry(name, {"sh", "-c", script}); }

const json kModels = entry("a_models", {"$sluice", "models", "--json", "$out"});
// Waits until it may go on, or for a minute.
const json kWaits =
    shell_entry("b_waits", "echo > $root/started; test -e $root/go || sleep 60; echo '{\"x\": 1}' > $out");

// A checkout with these kept results.
class Checkout : public TestRepository {
 public:
  Checkout(std::initializer_list<json> results) {
    write("benchmarks/kept/tiny.json", json{{"results", std::vector<json>(results)}}.dump());
    write("code/measured.cpp", "one");
    write("code/other.cpp", "one");
    commit();
  }

  std::vector<std::string> command(std::vector<std::string> words) const {
    words.insert(words.begin(), "reproduce");
    words.insert(words.end(), {"--root", root().string(), "--spill-dir", (root() / "scratch").string()});
    return words;
  }
  CommandResult reproduce(const std::vector<std::string>& words) const { return run_sluice(command(words)); }

  std::string text(const std::string& path) const { return read_text((root() / path).string()); }
  bool has(const std::string& path) const { return fs::exists(root() / path); }

  // The state of a kept result, and why.
  std::string state(const std::string& name) const {
    const std::string file = (root() / "list.json").string();
    const CommandResult listed = reproduce({"list", "--json", file});
    EXPECT_EQ(listed.exit_code, 0) << listed.errors;
    const json document = json::parse(read_text(file));
    for (const json& each : document["kept"]) {
      if (each["name"] == name) return each["state"].get<std::string>() + " " + each["why"].get<std::string>();
    }
    return "not listed";
  }

  bool waits_for(const std::string& path) const {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!has(path) && std::chrono::steady_clock::now() < give_up) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return has(path);
  }
};

std::string item(const std::string& kept, const std::string& address) {
  return json{{"id", "redl-figure-3"},
              {"paper", "ReDL"},
              {"item", "figure 3"},
              {"title", "A figure"},
              {"kept", {kept}},
              {"rows",
               {{{"what", "a number"},
                 {"model", "ResNet-20"},
                 {"batch", 4},
                 {"setting", "file, 60 %"},
                 {"published", 1.0},
                 {"published_from", "text"},
                 {"unit", "x"},
                 {"better", "lower"},
                 {"ours", {{"divide", {address, address}}}}}}}}
      .dump();
}

TEST(ReproduceTest, MakesWhatIsMissingAndSaysWhatMadeIt) {
  const Checkout checkout{kModels};
  EXPECT_EQ(checkout.state("a_models"), "missing no a_models.txt");
  const CommandResult made = checkout.reproduce({"a_models"});
  ASSERT_EQ(made.exit_code, 0) << made.errors;
  EXPECT_THAT(made.output, HasSubstr("made a_models in "));
  EXPECT_FALSE(json::parse(checkout.text("docs/results/a_models.json"))["models"].empty());
  const std::string commit = checkout.git("rev-parse --short HEAD");
  EXPECT_THAT(checkout.text("docs/results/a_models.txt"),
              AllOf(HasSubstr("$ sluice models --json docs/results/a_models.json\ncommit " + commit +
                              "\ncode code/measured.cpp="),
                    HasSubstr("resnet20"), Not(HasSubstr(checkout.root().string()))));
  EXPECT_FALSE(checkout.has("docs/results/.making"));
  EXPECT_EQ(checkout.state("a_models"), "kept ");
  EXPECT_THAT(checkout.reproduce({"a_models"}).output, Not(HasSubstr("made a_models")));
  EXPECT_THAT(checkout.reproduce({"a_models", "--again"}).output, HasSubstr("made a_models"));
}

TEST(ReproduceTest, WhatMeasuresChangedCodeIsStale) {
  const Checkout checkout{kModels};
  ASSERT_EQ(checkout.reproduce({"all"}).exit_code, 0);
  const std::string commit = checkout.git("rev-parse --short HEAD");
  checkout.write("code/other.cpp", "two");
  EXPECT_EQ(checkout.state("a_models"), "kept ");
  checkout.write("code/measured.cpp", "two");
  EXPECT_EQ(checkout.state("a_models"), "stale since " + commit + ": code/measured.cpp changed");
  EXPECT_THAT(checkout.reproduce({"all", "--dry-run"}).output, HasSubstr("would make (0.01 minutes) a_models: stale"));
  ASSERT_EQ(checkout.reproduce({"all"}).exit_code, 0);
  EXPECT_THAT(checkout.text("docs/results/a_models.txt"), HasSubstr("commit " + commit + " dirty\n"));
  EXPECT_EQ(checkout.state("a_models"), "kept ");
  checkout.commit();
  EXPECT_EQ(checkout.state("a_models"), "kept ");
}

TEST(ReproduceTest, OldResultsGoByTheirCommit) {
  const Checkout checkout{kModels};
  const std::string commit = checkout.git("rev-parse --short HEAD");
  checkout.write("docs/results/a_models.json", "{}");
  checkout.write("docs/results/a_models.txt", "$ sluice models\ncommit " + commit + "\nprinted\n");
  EXPECT_EQ(checkout.state("a_models"), "kept ");
  checkout.write("code/measured.cpp", "two");
  EXPECT_EQ(checkout.state("a_models"), "stale since " + commit + ": code/measured.cpp changed");
  checkout.write("docs/results/a_models.txt", "$ sluice models\ncommit 0123456\nprinted\n");
  EXPECT_EQ(checkout.state("a_models"), "stale made by 0123456, code that is not in this history");
  checkout.write("docs/results/a_models.txt", "$ sluice models\nprinted\n");
  EXPECT_EQ(checkout.state("a_models"), "cannot tell a_models.txt names no commit");
}

TEST(ReproduceTest, WithoutGitNobodyCanTell) {
  const Checkout checkout{kModels};
  fs::remove_all(checkout.root() / ".git");
  ASSERT_EQ(checkout.reproduce({"all"}).exit_code, 0);
  EXPECT_THAT(checkout.state("a_models"),
              AllOf(HasSubstr("cannot tell"), HasSubstr("is not the top of a git repository")));
}

TEST(ReproduceTest, GoesOnWhereItWasKilled) {
  const Checkout checkout{kModels, kWaits, shell_entry("c_last", "echo '{}' > $out")};
  const std::string output = (checkout.root() / "output").string();
  const pid_t process = start_sluice(checkout.command({"all"}), output, (checkout.root() / "errors").string());
  ASSERT_TRUE(checkout.waits_for("started"));
  const CommandResult second = checkout.reproduce({"all"});
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.errors, HasSubstr("another sluice reproduce is at work"));
  ::kill(process, SIGKILL);
  EXPECT_EQ(collect_sluice(process, output, output).exit_code, 128 + SIGKILL);
  EXPECT_TRUE(checkout.has("docs/results/a_models.txt"));
  EXPECT_FALSE(checkout.has("docs/results/b_waits.json"));
  EXPECT_FALSE(checkout.has("docs/results/c_last.txt"));
  EXPECT_FALSE(checkout.has("docs/results/papers.md"));

  checkout.write("go", "");
  const CommandResult again = checkout.reproduce({"all"});
  ASSERT_EQ(again.exit_code, 0) << again.errors;
  EXPECT_THAT(again.output,
              AllOf(HasSubstr("made b_waits"), HasSubstr("made c_last"), Not(HasSubstr("made a_models"))));
  EXPECT_TRUE(checkout.has("docs/results/papers.md"));
  EXPECT_TRUE(checkout.has("docs/results/papers.html"));
  EXPECT_FALSE(checkout.has("docs/results/.making"));
}

TEST(ReproduceTest, InterruptionEndsItCleanly) {
  const Checkout checkout{kModels, kWaits};
  const std::string output = (checkout.root() / "output").string(), errors = (checkout.root() / "errors").string();
  const pid_t process = start_sluice(checkout.command({"all"}), output, errors);
  ASSERT_TRUE(checkout.waits_for("started"));
  ::kill(process, SIGINT);
  const CommandResult ended = collect_sluice(process, output, errors);
  EXPECT_EQ(ended.exit_code, 130);
  EXPECT_THAT(ended.errors, HasSubstr("interrupted; 1 made in this run stay"));
  EXPECT_TRUE(checkout.has("docs/results/a_models.txt"));
  EXPECT_FALSE(checkout.has("docs/results/b_waits.txt"));
  EXPECT_FALSE(checkout.has("docs/results/.making"));
}

TEST(ReproduceTest, FailuresAreNamedAndPassedOver) {
  const Checkout checkout{shell_entry("a_fails", "echo half > $out; echo why it failed >&2; exit 3"),
                          shell_entry("b_lies", "echo '{' > $out"), entry("c_missing", {"no-such-program"}), kModels};
  const CommandResult result = checkout.reproduce({"all", "--json", (checkout.root() / "out.json").string()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, AllOf(HasSubstr("failed a_fails: "), HasSubstr("ended with 3: why it failed"),
                                   HasSubstr("failed b_lies: it wrote no good JSON"),
                                   HasSubstr("failed c_missing: no-such-program ended with 127: no such program"),
                                   HasSubstr("made a_models")));
  EXPECT_FALSE(checkout.has("docs/results/a_fails.json"));
  EXPECT_FALSE(checkout.has("docs/results/b_lies.json"));
  const json document = json::parse(checkout.text("out.json"));
  EXPECT_EQ(document["made"], json({"a_models"}));
  EXPECT_EQ(document["failed"].size(), 3U);
}

TEST(ReproduceTest, WhatTheMachineLacksIsSkipped) {
  json needs = shell_entry("a_needs", "true"), rare = shell_entry("b_rare", "true");
  needs["needs"] = {{"a unicorn", {"false"}}};
  rare["only_if_asked"] = "takes hours";
  const Checkout checkout{needs, rare};
  const CommandResult all = checkout.reproduce({"all"});
  EXPECT_EQ(all.exit_code, 0) << all.errors;
  EXPECT_THAT(all.output, AllOf(HasSubstr("skipped a_needs: this machine lacks a unicorn"),
                                HasSubstr("skipped b_rare: only if asked for by its name: takes hours")));
  const std::string listed = checkout.reproduce({"list"}).output;
  EXPECT_THAT(listed, AllOf(HasSubstr("this machine lacks a unicorn"), HasSubstr("would take about 0 minutes")));
  EXPECT_THAT(checkout.reproduce({"b_rare"}).output, HasSubstr("made b_rare"));
}

TEST(ReproduceTest, ShowsOursBesideThePublishedNumber) {
  const Checkout checkout{entry("step", {"$sluice", "simulate", "resnet20", "--batch", "4", "--threads", "1", "--fast",
                                         "60%", "--spill-dir", "$spill", "--json", "$out"})};
  checkout.write("benchmarks/papers/a.json", item("step", "step#/predicted_ms"));
  EXPECT_THAT(checkout.reproduce({"redl", "--no-run"}).output, HasSubstr("step is not kept yet"));
  const CommandResult result = checkout.reproduce({"redl-figure-3"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("made step"), HasSubstr("simulated"), HasSubstr("1.00x"), HasSubstr("matches")));
  checkout.write("code/measured.cpp", "two");
  EXPECT_THAT(checkout.reproduce({"redl-figure-3", "--no-run"}).output, HasSubstr("matches (stale)"));
}

TEST(ReproduceTest, DocumentsItsFields) {
  const Checkout checkout{kModels};
  checkout.write("benchmarks/papers/a.json", item("a_models", "a_models#/version"));
  const std::vector<DocumentedField> fields = read_fields(SLUICE_SOURCE_FOLDER "/docs/reproduce.md");
  ASSERT_FALSE(fields.empty());
  std::set<std::string> seen;
  for (const std::string word : {"list", "redl"}) {
    const CommandResult result = checkout.reproduce({word, "--json", "-"});
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    const json document = json::parse(result.output);
    EXPECT_THAT(check_fields(document, fields, "not_addressed"), IsEmpty()) << word;
    seen.merge(field_names(document));
  }
  for (const DocumentedField& field : fields) {
    if (field.name() == "items[].not_addressed") continue;
    EXPECT_TRUE(seen.contains(field.name())) << field.name();
  }
}

TEST(ReproduceTest, ADryRunChangesNothing) {
  const Checkout checkout{kModels};
  EXPECT_THAT(checkout.reproduce({"all", "--dry-run"}).output, HasSubstr("would make (0.01 minutes) a_models"));
  EXPECT_FALSE(checkout.has("docs"));
  EXPECT_FALSE(checkout.has("scratch"));
}

TEST(ReproduceTest, WrongFilesFoldersAndWordsAreNamed) {
  const Checkout checkout{kModels};
  EXPECT_THAT(checkout.reproduce({"a_model"}).errors,
              HasSubstr("\"a_model\" is no paper, item or kept result (like it: a_models)"));
  EXPECT_EQ(checkout.reproduce({"list", "all"}).exit_code, 2);
  EXPECT_EQ(checkout.reproduce({"all", "--no-run", "--again"}).exit_code, 2);
  checkout.write("benchmarks/papers/bad.json", "{\"id\": 7}");
  const CommandResult bad = checkout.reproduce({"list"});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.errors, HasSubstr("papers/bad.json: /id: expected text, found 7"));
}

TEST(ReproduceTest, AFolderThatCannotBeWrittenIsNamed) {
  const Checkout checkout{kModels};
  checkout.write("docs/results", "a file");
  const CommandResult result = checkout.reproduce({"all"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.errors, HasSubstr("docs/results"));
}

TEST(ReproduceTest, EveryPlannerIsASetOfMeasuredCode) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_sluice({"planners", "--json", folder.file("planners.json")}).exit_code, 0);
  const json sets = json::parse(read_text(SLUICE_SOURCE_FOLDER "/benchmarks/measured_code.json"), nullptr, true, true);
  const json listed = json::parse(read_text(folder.file("planners.json")));
  ASSERT_GT(listed["planners"].size(), 10U);
  for (const json& planner : listed["planners"]) {
    const std::string name = planner["name"];
    EXPECT_TRUE(sets.contains(name)) << name << " is missing in benchmarks/measured_code.json";
  }
}

}  // namespace
}  // namespace sluice
