// What a command that fails writes where --json says: docs/json.md, "When a command fails".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command_runner.hpp"
#include "tests/cli/documented_fields.hpp"

namespace sluice {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Of what a command writes to standard output when it fails so.
json error_of(std::vector<std::string> arguments, int exit_code) {
  arguments.insert(arguments.end(), {"--json", "-"});
  const CommandResult result = run_sluice(arguments);
  EXPECT_EQ(result.exit_code, exit_code) << result.errors;
  const json document = json::parse(result.output);
  const std::string page = SLUICE_SOURCE_FOLDER "/docs/json.md";
  std::vector<DocumentedField> fields = read_fields(page, "every document");
  for (const DocumentedField& each : read_fields(page, "an error")) fields.push_back(each);
  EXPECT_THAT(check_fields(document, fields, "stands alone"), IsEmpty());
  EXPECT_EQ(document["command"], arguments.front());
  EXPECT_THAT(result.errors, HasSubstr(document["error"]["message"].get<std::string>()));
  return document["error"];
}

std::vector<std::string> tiny_plan(const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"plan", "resnet20", "--batch", "2", "--threads", "1", "--estimate"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(ErrorDocumentTest, ABudgetThatIsTooSmallIsInBytes) {
  const json error = error_of(tiny_plan({"--planner", "sentinel", "--fast", "262144"}), 2);
  EXPECT_EQ(error["kind"], "infeasible");
  EXPECT_EQ(error["available_bytes"], 262144);
  const auto smallest = error["requested_bytes"].get<std::int64_t>();
  EXPECT_GT(smallest, 262144);
  const CommandResult enough =
      run_sluice(tiny_plan({"--planner", "sentinel", "--fast", std::to_string(smallest), "-q"}));
  EXPECT_EQ(enough.exit_code, 0) << enough.errors;
}

TEST(ErrorDocumentTest, MoreThanTheMachineHasIsInBytes) {
  const json error = error_of({"plan", "resnet20", "--batch", "2", "--threads", "1", "--fast", "4096GiB"}, 2);
  EXPECT_EQ(error["requested_bytes"], std::int64_t{4096} << 30);
  EXPECT_LT(error["available_bytes"], error["requested_bytes"]);
  const json batch = error_of({"max-batch", "resnet20", "--threads", "1", "--fast", "262144"}, 2);
  EXPECT_EQ(batch["available_bytes"], 262144);
  EXPECT_GT(batch["requested_bytes"], 262144);
}

TEST(ErrorDocumentTest, WhatIsNotAboutRoomHasNoBytes) {
  for (const auto& arguments : {tiny_plan({"--planner", "sentinal"}), tiny_plan({"--sideways"})}) {
    const json error = error_of(arguments, 2);
    EXPECT_EQ(error["kind"], "bad-input");
    EXPECT_TRUE(error["requested_bytes"].is_null());
    EXPECT_TRUE(error["available_bytes"].is_null());
  }
}

TEST(ErrorDocumentTest, AFileThatIsThereStays) {
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  const std::vector<std::string> wrong{"plan", "resnet21", "--json", file};
  EXPECT_EQ(run_sluice(wrong).exit_code, 2);
  EXPECT_THAT(json::parse(read_text(file))["error"]["message"].get<std::string>(), HasSubstr("resnet21"));
  std::ofstream(file) << "results of an hour";
  EXPECT_EQ(run_sluice(wrong).exit_code, 2);
  EXPECT_EQ(read_text(file), "results of an hour");
}

TEST(ErrorDocumentTest, ACommandWhoseCallerHasEndedDoesNothing) {
  const CommandResult orphan = run_program({"env", "SLUICE_PARENT=1", SLUICE_COMMAND, "models"});
  EXPECT_EQ(orphan.exit_code, 130);
  EXPECT_EQ(orphan.output, "");
}

}  // namespace
}  // namespace sluice
