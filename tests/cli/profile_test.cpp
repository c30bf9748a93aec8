// sluice profile: what is measured, what is known, and profiles that are kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command_runner.hpp"

namespace sluice {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ProfileTest : public ::testing::Test {
 protected:
  // On the smallest model, with a cache of its own, and no disk to be measured.
  CommandResult run(const std::vector<std::string>& command, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(),
                     {"--batch", "2", "--threads", "1", "--cache-dir", folder_.file("cache"), "--slow", slow_});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_sluice(arguments);
  }
  json run_json(const std::vector<std::string>& command, std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--json", folder_.file("out.json")});
    const CommandResult result = run(command, more);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return json::parse(read_text(folder_.file("out.json")));
  }
  std::string save() const {
    const std::string path = folder_.file("resnet20.profile.json");
    EXPECT_EQ(run({"profile", "resnet20"}, {"--save", path}).exit_code, 0);
    return path;
  }
  void expect_refused(const CommandResult& result, const std::string& reason) const {
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.errors, AllOf(HasSubstr("resnet20.profile.json"), HasSubstr(reason)));
    EXPECT_EQ(result.output, "");
  }

  TemporaryFolder folder_;
  std::string slow_ = "optane";
};

TEST_F(ProfileTest, ASecondRunMeasuresNothing) {
  const json first = run_json({"profile", "resnet20"});
  EXPECT_GT(first["distinct_ops"], 0);
  EXPECT_EQ(first["measured_ops"], first["distinct_ops"]);
  for (const json& op : first["ops"]) EXPECT_GT(op["cold_seconds"].get<double>(), 0) << op;
  const CommandResult again = run({"profile", "resnet20"});
  const int distinct = first["distinct_ops"];
  EXPECT_THAT(again.output, HasSubstr("0 of " + std::to_string(distinct) + " distinct ops measured, " +
                                      std::to_string(distinct) + " from the cache"));
  EXPECT_THAT(again.output, AllOf(HasSubstr("warm"), HasSubstr("cold")));
  const json second = run_json({"profile", "resnet20"});
  EXPECT_EQ(second["measured_ops"], 0);
  EXPECT_EQ(second["ops"], first["ops"]);
}

TEST_F(ProfileTest, TimesByPlacementAreLabelledAndKept) {
  const CommandResult first = run({"profile", "resnet20"}, {"--placements"});
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  EXPECT_THAT(first.output, AllOf(HasSubstr("with operands in optane (emulated)"), HasSubstr("inputs slow"),
                                  HasSubstr("outputs slow"), HasSubstr("all slow")));
  const json known = run_json({"profile", "resnet20"}, {"--placements"});
  EXPECT_TRUE(known["run"]["emulated"].get<bool>());
  ASSERT_EQ(known["placements"].size(), 1U);
  EXPECT_TRUE(known["placements"][0]["emulated"].get<bool>());
  EXPECT_EQ(known["placements"][0]["ops"].size(), known["distinct_ops"].get<std::size_t>());
  for (const json& op : known["placements"][0]["ops"]) {
    EXPECT_EQ(op["configurations"][0]["relative"], 1) << op;
    for (const json& configuration : op["configurations"]) EXPECT_GE(configuration["relative"], 1) << op;
  }
  EXPECT_THAT(run({"profile", "resnet20"}, {"--placements"}).output, HasSubstr("; 0 configurations"));
}

TEST_F(ProfileTest, PlacementsNeedATierThatOpsCanUse) {
  slow_ = "pcie3";
  const CommandResult result = run({"profile", "resnet20"}, {"--placements"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("--slow optane"));
}

TEST_F(ProfileTest, ASavedProfilePlansWithoutMeasuring) {
  const std::string profile = save();
  std::filesystem::remove_all(folder_.file("cache"));
  const json simulated = run_json({"simulate", "resnet20"}, {"--profile", profile, "--planner", "fast-only"});
  const std::string plan = folder_.file("plan.json");
  EXPECT_EQ(run({"plan", "resnet20"}, {"--profile", profile, "--planner", "fast-only", "-o", plan}).exit_code, 0);
  const json saved = json::parse(read_text(profile));
  double seconds = 0;
  const json planned = json::parse(read_text(plan));
  for (const json& op : planned["schedule"]) {
    seconds += saved["ops"][op.get<std::size_t>()]["seconds"].get<double>();
  }
  EXPECT_NEAR(simulated["predicted_ms"].get<double>(), 1e3 * seconds, 1e-6);
  EXPECT_EQ(run({"plan", "resnet20"}, {"--profile", profile}).exit_code, 0);
  EXPECT_GT(run_json({"profile", "resnet20"})["measured_ops"], 0) << "nothing was measured before";
}

// The cache comes when steps have measured, and not before.
TEST_F(ProfileTest, WhereEverythingFitsTheStepsMeasure) {
  const json first = run_json({"train", "resnet20"}, {"--steps", "1"});
  EXPECT_TRUE(first["figures"]["estimated"].get<bool>());
  EXPECT_EQ(first["figures"]["estimated_ops"], first["figures"]["distinct_ops"]);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("cache"))) << "nothing was measured";
  const json measuring = run_json({"train", "resnet20"}, {"--steps", "6"});
  EXPECT_TRUE(measuring["replans"].empty()) << "there is nothing to decide";
  const json known = run_json({"train", "resnet20"}, {"--steps", "1"});
  EXPECT_GT(known["figures"]["in_step_ops"], 0);
  EXPECT_LT(known["figures"]["estimated_ops"], first["figures"]["estimated_ops"]);
  EXPECT_EQ(known["final_loss"], first["final_loss"]);
}

TEST_F(ProfileTest, WhatEncodingWouldSaveIsMeasuredOnceAndSaved) {
  slow_ = "file";
  const std::string path = folder_.file("with_encodings.json");
  const json first = run_json({"profile", "squeezenet1_1"}, {"--image-size", "64", "--encodings", "--save", path});
  const json& encodings = first["encodings"];
  for (const char* coder : {"zero-value", "narrow"}) {
    EXPECT_GT(encodings["coders"][coder]["encode_bytes_per_second"].get<double>(), 0) << coder;
  }
  ASSERT_FALSE(encodings["tensors"].empty()) << "what ReLU leaves";
  for (const json& each : encodings["tensors"]) EXPECT_LT(each["encoded_bytes"], each["bytes"]) << each;
  EXPECT_EQ(run_json({"profile", "squeezenet1_1"}, {"--image-size", "64", "--encodings"})["encodings"], encodings);
  EXPECT_FALSE(run_json({"profile", "squeezenet1_1"}, {"--image-size", "64"}).contains("encodings"));
  const CommandResult planned =
      run({"plan", "squeezenet1_1"}, {"--image-size", "64", "--profile", path, "--fast", "60%", "--smallest-feasible",
                                      "--planner", "sentinel:additions=choice+staying+encode"});
  EXPECT_EQ(planned.exit_code, 0) << planned.errors;
}

TEST_F(ProfileTest, ASavedProfileOfAnotherModelOrMachineIsRefused) {
  const std::string profile = save();
  expect_refused(run({"plan", "plain20"}, {"--profile", profile}), "another graph, of resnet20");
  json document = json::parse(read_text(profile));
  document["machine"]["fingerprint"] = "another";
  document["machine"]["cpu"] = "A CPU of elsewhere, 64 cores";
  std::ofstream(profile) << document;
  expect_refused(run({"simulate", "resnet20"}, {"--profile", profile}), "measured on A CPU of elsewhere, 64 cores");
}

TEST_F(ProfileTest, ASavedProfileThatIsDamagedIsRefused) {
  const std::string profile = save();
  std::filesystem::resize_file(profile, std::filesystem::file_size(profile) / 2);
  expect_refused(run({"plan", "resnet20"}, {"--profile", profile}), "cut short");
  std::ofstream(profile) << "garbage";
  expect_refused(run({"plan", "resnet20"}, {"--profile", profile}), "not JSON");
  std::ofstream(profile) << "[]";
  expect_refused(run({"plan", "resnet20"}, {"--profile", profile}), "not a saved profile");
}

}  // namespace
}  // namespace sluice
