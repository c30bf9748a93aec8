// Files that commands hand to each other: plans, profiles, checkpoints, documents. What is in them, and that one which is
// damaged, of another model or of another version is refused with its name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/cli/command_runner.hpp"

namespace sluice::tests {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;

class FilesTest : public ::testing::Test {
 protected:
  static void make(const Words& arguments) {
    const CommandResult result = call_sluice(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.errors;
  }
  static void expect_refused(const Words& arguments, const std::string& file, const std::string& message) {
    const CommandResult result = call_sluice(arguments);
    EXPECT_EQ(result.exit_code, 2) << result.output;
    EXPECT_THAT(result.errors, AllOf(HasSubstr(file), HasSubstr(message)));
  }
  static Words verify(const std::string& plan, const std::string& model = "resnet20") {
    return {"verify", plan, model, "--batch", "2", "--threads", "1", "--slow", "optane"};
  }
  static Words train(const std::string& plan, const Words& more = {}) {
    return joined(tiny("train", {"--plan", plan}), more);
  }
  // The same file with a part of it replaced.
  void edit(const std::string& path, const std::string& pointer, const json& value) const {
    json document = read_json(path);
    document[json::json_pointer(pointer)] = value;
    std::ofstream(path) << document;
  }
  void cut_short(const std::string& path) const {
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  }

  TemporaryFolder folder_;
  const std::string plan_ = folder_.file("plan.json");
};

// Broken, a plan is named by the rule it breaks: by `verify`, and by `train`, which verifies first.
TEST_F(FilesTest, PlansAreVerified) {
  make(tiny("plan", {"--fast", "60%", "-o", plan_}));
  EXPECT_EQ(call_sluice(verify(plan_)).exit_code, 0);
  const auto expect_broken = [](const Words& arguments, const std::string& rule) {
    const CommandResult verified = call_sluice(arguments);
    EXPECT_EQ(verified.exit_code, 1) << verified.errors;
    EXPECT_THAT(verified.output, HasSubstr(rule + ": "));
  };
  expect_broken(verify(plan_, "plain20"), "graph-matches");
  expect_broken(joined(verify(plan_), {"--slow", "pmbd"}), "machine-matches");
  edit(plan_, "/budgets/0", 4096);
  expect_broken(verify(plan_), "within-budget");
  expect_refused(train(plan_), "", "within-budget: ");
  edit(plan_, "/version", 99);
  const std::string newer =
      "/version: found 99, and this sluice reads 1 to 8: the file is of a newer sluice; plan again";
  for (const Words& reads : {verify(plan_), train(plan_), tiny("plan", {"--choices-of", plan_})}) {
    expect_refused(reads, plan_, newer);
  }
  cut_short(plan_);
  expect_refused(verify(plan_), plan_, "cut short");
}

TEST_F(FilesTest, ASavedProfilePlansWithoutMeasuring) {
  const std::string profile = folder_.file("profile.json");
  const auto with_cache = [&](const std::string& command, const Words& more) {
    return tiny(command, joined({"--cache-dir", folder_.file("cache")}, more));
  };
  const json first = document_of(with_cache("profile", {"--accesses", "--save", profile}));
  EXPECT_EQ(first["measured_ops"], first["distinct_ops"]);
  for (const json& op : first["ops"]) EXPECT_GT(op["cold_seconds"], 0) << op;
  EXPECT_EQ(document_of(with_cache("profile", {}))["measured_ops"], 0) << "a second run measures nothing";
  EXPECT_THAT(call_sluice({"doctor", "--cache-dir", folder_.file("cache")}).output, HasSubstr("1 of this machine"));
  std::filesystem::remove_all(folder_.file("cache"));
  const json step = document_of(with_cache("simulate", {"--profile", profile, "--planner", "fast-only"}));
  make(with_cache("plan", {"--profile", profile, "--planner", "fast-only", "-o", plan_}));
  const json saved = read_json(profile), planned = read_json(plan_);
  double seconds = 0;
  for (const json& op : planned["schedule"]) seconds += saved["ops"][op.get<std::size_t>()]["seconds"].get<double>();
  EXPECT_NEAR(step["predicted_ms"].get<double>(), 1e3 * seconds, 1e-6);
  expect_refused({"plan", "plain20", "--batch", "2", "--threads", "1", "--slow", "optane", "--profile", profile},
                 profile, "another graph, of resnet20");
  edit(profile, "/accesses/version", 5);
  expect_refused(tiny("plan", {"--accesses", profile}), profile, "found 5, and this sluice reads 1");
  edit(profile, "/version", 9);
  expect_refused(tiny("plan", {"--profile", profile}), profile, "found 9, and this sluice reads 2");
}

TEST_F(FilesTest, ADocumentIsNoPlanAndNoProfile) {
  const std::string document = folder_.file("result.json");
  make({"models", "--json", document});
  expect_refused(verify(document), document, "not a plan file: expected \"sluice-plan\", found \"sluice-json\"");
  expect_refused(tiny("plan", {"--profile", document}), document, "not a saved profile");
}

// The header of a checkpoint is JSON behind eight letters and its length: a version of as many digits fits in place.
TEST_F(FilesTest, CheckpointsOfAnotherRunOrVersion) {
  const std::string checkpoint = folder_.file("run.ckpt");
  const Words resume = tiny("train", {"--steps", "2", "--resume", checkpoint});
  make(tiny("train", {"--steps", "2", "--checkpoint", checkpoint}));
  expect_refused(resume, "", "already holds 2 steps");
  expect_refused(joined(resume, {"--seed", "2"}), "", "its seed is 1, this run's is 2");
  std::string bytes = read_text(checkpoint);
  const std::string version = "\"version\":";
  bytes[bytes.find(version + "2") + version.size()] = '7';
  std::ofstream(checkpoint, std::ios::binary) << bytes;
  expect_refused(resume, checkpoint, "found 7, and this sluice reads 2: the file is of a newer sluice");
  cut_short(checkpoint);
  expect_refused(resume, checkpoint, "");
}

TEST_F(FilesTest, DataOfAnotherKind) {
  const std::string folder = folder_.path().string();
  const auto data = [](const std::string& kind) { return tiny("train", {"--steps", "1", "--data", kind}); };
  expect_refused(data("imagenet"), "", "unknown data 'imagenet'");
  expect_refused(data("mnist:" + folder), "", "train-images-idx3-ubyte: No such file");
  expect_refused(data("tokens:" + folder), "", "take a language model");
  expect_refused(joined(data("synthetic"), {"--validate-every", "1"}), "", "no validation split");
}

TEST_F(FilesTest, TracesAndLossesAreOfTheStepsThatWereTrained) {
  const std::string trace = folder_.file("trace.json"), losses = folder_.file("losses");
  const json trained = document_of({"train", "resnet20", "--batch", "2", "--threads", "1", "--slow", "pcie3", "--fast",
                                    "60%", "--steps", "3", "--losses", losses, "--trace", trace});
  std::istringstream lines(read_text(losses));
  std::int64_t step = 0;
  json last;
  for (std::string line; std::getline(lines, line); ++step) {
    last = json::parse(line);
    EXPECT_EQ(last["step"], step);
    EXPECT_TRUE(last["overlap"].contains("transfer_wait_ms"));
  }
  EXPECT_EQ(step, 3);
  EXPECT_EQ(last["loss"], trained["final_loss"]);
  std::set<std::string> categories, phases;
  const json drawn = read_json(trace);
  for (const json& event : drawn["traceEvents"]) {
    phases.insert(event["ph"]);
    if (event.contains("cat")) categories.insert(event["cat"]);
  }
  EXPECT_THAT(phases, ElementsAre("C", "M", "X"));
  EXPECT_THAT(categories, IsSupersetOf({"op", "prefetch", "eviction"}));
  const std::map<std::string, std::string> says{
      {"sentinel", "operands found fast"}, {"um", "in balance"}, {"dtr", "made again"}};
  for (const auto& [planner, words] : says) {
    SCOPED_TRACE(planner);
    const CommandResult simulated =
        call_sluice(tiny("simulate", {"--fast", "90%", "--planner", planner, "--trace", trace}));
    EXPECT_THAT(simulated.output, HasSubstr(words)) << simulated.errors;
    EXPECT_FALSE(read_json(trace).empty());
  }
}

TEST_F(FilesTest, AllocationsHaveOffsetsAndAPicture) {
  const std::string items = SLUICE_SOURCE_FOLDER "/examples/allocation.csv";
  const std::string csv = folder_.file("out.csv"), page = folder_.file("out.html");
  const json found = document_of({"allocate", items, "--output", csv, "--html", page});
  EXPECT_EQ(found["height"], 12288);
  EXPECT_EQ(found["lower_bound"], 12288);
  EXPECT_EQ(found["offsets"].size(), found["items"]);
  EXPECT_THAT(read_text(csv), StartsWith("id,lower,upper,size,offset\n"));
  EXPECT_THAT(read_text(page), HasSubstr(R"("id":"a","lower":0,"offset":)"));
  const CommandResult fits = call_sluice({"allocate", items, "--capacity", "12KiB"});
  EXPECT_EQ(fits.exit_code, 0);
  EXPECT_THAT(fits.output, HasSubstr("id,lower,upper,size,offset\na,0,8,4608,"));
  const CommandResult too_little = call_sluice({"allocate", items, "--capacity", "12287"});
  EXPECT_EQ(too_little.exit_code, 1) << "a check that failed";
  EXPECT_THAT(too_little.output, HasSubstr("does not fit into 12287 bytes: proven"));
  std::ofstream(folder_.file("bad.csv")) << "id,lower,upper,size\r\na,0,1,99999999999999999999\r\n";
  expect_refused({"allocate", folder_.file("bad.csv")}, "bad.csv:2:7: ", "'99999999999999999999' is beyond 64 bits");
}

// 12,288 fit; the search may stop anywhere below what it was given.
TEST_F(FilesTest, AnAllocationSaysTheHeightThatItsOffsetsReallyHave) {
  const json found = document_of({"allocate", SLUICE_SOURCE_FOLDER "/examples/allocation.csv", "--capacity", "13000",
                                  "--output", folder_.file("out.csv")});
  std::istringstream csv(read_text(folder_.file("out.csv")));
  std::string line;
  std::getline(csv, line);
  std::int64_t height = 0;
  while (std::getline(csv, line)) {
    const std::size_t last = line.rfind(','), before = line.rfind(',', last - 1);
    height = std::max<std::int64_t>(height, std::stoll(line.substr(before + 1)) + std::stoll(line.substr(last + 1)));
  }
  EXPECT_EQ(found["height"], height);
}

TEST_F(FilesTest, PagesOfChartsAreWritten) {
  const std::string page = folder_.file("page.html");
  make({"characterize", "squeezenet1_1", "--batch", "2", "--threads", "1", "--slow", "optane", "--image-size", "64",
        "--no-accesses", "--html", page});
  EXPECT_THAT(read_text(page),
              AllOf(StartsWith("<!doctype html>"), HasSubstr("<h1>squeezenet1_1, "), HasSubstr("peak of live bytes")));
  const std::string search = folder_.file("convergence.html");
  make(tiny("plan", {"--fast", "80%", "--planner", "home:particles=30:iterations=8:patience=0", "--html", search}));
  EXPECT_THAT(read_text(search), HasSubstr("\"average_ms\":"));
}

TEST_F(FilesTest, WhatThereIsNothingToDrawOrMeasureOfIsRefused) {
  const std::string picture = folder_.file("convergence.html");
  expect_refused(tiny("plan", {"--planner", "sentinel", "--html", picture}), "",
                 "--html: sentinel had no rounds of a search to draw");
  EXPECT_FALSE(std::filesystem::exists(picture));
  expect_refused({"profile", "resnet20", "--batch", "2", "--threads", "1", "--slow", "pcie3", "--placements"}, "",
                 "--slow optane");
}

TEST_F(FilesTest, WhatCannotBeWrittenIsNamed) {
  std::ofstream(folder_.file("file")) << "in the way";
  const auto errors = [](const Words& arguments) {
    const CommandResult result = call_sluice(arguments);
    EXPECT_EQ(result.exit_code, 1) << result.errors;
    return result.errors;
  };
  EXPECT_THAT(errors({"models", "--json", "/no/such/folder/x.json"}),
              HasSubstr("/no/such/folder/x.json: No such file"));
  EXPECT_THAT(errors(tiny("characterize", {"--no-accesses", "--html", folder_.file("file") + "/below"})),
              HasSubstr("below"));
  EXPECT_THAT(errors(tiny("report", {"-o", folder_.file("none/report.html"), "--cache-dir", folder_.file("cache")})),
              HasSubstr("none/report.html"));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("cache"))) << "said before anything was measured";
}

// The cache comes when steps have measured, and not before.
TEST_F(FilesTest, WhereEverythingFitsTheStepsMeasure) {
  const auto train = [&](const char* steps) {
    return document_of(tiny("train", {"--steps", steps, "--cache-dir", folder_.file("cache")}));
  };
  const json first = train("1");
  EXPECT_TRUE(first["figures"]["estimated"].get<bool>());
  EXPECT_EQ(first["figures"]["estimated_ops"], first["figures"]["distinct_ops"]);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("cache"))) << "nothing was measured";
  EXPECT_TRUE(train("6")["replans"].empty()) << "there is nothing to decide";
  const json known = train("1");
  EXPECT_GT(known["figures"]["in_step_ops"], 0);
  EXPECT_LT(known["figures"]["estimated_ops"], first["figures"]["estimated_ops"]);
  EXPECT_EQ(known["final_loss"], first["final_loss"]);
}

}  // namespace
}  // namespace sluice::tests
