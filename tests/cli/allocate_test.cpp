// What `sluice allocate` prints and writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/command_runner.hpp"

namespace sluice {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const std::string kExample = SLUICE_SOURCE_FOLDER "/examples/allocation.csv";

TEST(AllocateTest, FindsTheLeastHeightOfTheExampleAndSaysSo) {
  const TemporaryFolder folder;
  const CommandResult result = run_sluice({"allocate", kExample, "--output", folder.file("out.csv"), "--html",
                                           folder.file("out.html"), "--json", folder.file("out.json")});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("height 12288 bytes, bound 12288 bytes: nothing is lower"));
  const json document = json::parse(read_text(folder.file("out.json")));
  EXPECT_EQ(document["height"], 12288);
  EXPECT_EQ(document["lower_bound"], 12288);
  EXPECT_EQ(document["capacity"], json());
  EXPECT_EQ(document["offsets"].size(), document["items"]);
  const std::string csv = read_text(folder.file("out.csv"));
  EXPECT_EQ(csv.substr(0, csv.find('\n')), "id,lower,upper,size,offset");
  EXPECT_THAT(read_text(folder.file("out.html")), HasSubstr(R"("id":"a","lower":0,"offset":)"));
}

// 12,288 fit; the search may stop anywhere below what it was given.
TEST(AllocateTest, SaysTheHeightThatTheOffsetsReallyHave) {
  const TemporaryFolder folder;
  const CommandResult result = run_sluice({"allocate", kExample, "--capacity", "13000", "--json",
                                           folder.file("out.json"), "--output", folder.file("out.csv")});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  std::ifstream csv(folder.file("out.csv"));
  std::string line;
  std::getline(csv, line);
  long height = 0;
  while (std::getline(csv, line)) {
    const std::size_t last = line.rfind(','), before = line.rfind(',', last - 1);
    height = std::max(height, std::stol(line.substr(before + 1)) + std::stol(line.substr(last + 1)));
  }
  const json document = json::parse(read_text(folder.file("out.json")));
  EXPECT_EQ(document["height"], height);
  EXPECT_EQ(document["run"]["slow_tiers"], json::array());
}

TEST(AllocateTest, PrintsTheOffsetsWhereNoFileIsNamed) {
  const CommandResult result = run_sluice({"allocate", kExample, "--capacity", "12KiB"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("id,lower,upper,size,offset\na,0,8,4608,"));
}

TEST(AllocateTest, WhatCannotFitIsACheckThatFailed) {
  const CommandResult result = run_sluice({"allocate", kExample, "--capacity", "12287"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("does not fit into 12287 bytes: proven"));
}

TEST(AllocateTest, MistakesInTheFileHaveTheirPlace) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("bad.csv")) << "id,lower,upper,size\r\na,0,1,99999999999999999999\r\n";
  const CommandResult result = run_sluice({"allocate", folder.file("bad.csv")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("bad.csv:2:7: 99999999999999999999 is beyond 64 bits"));
}

}  // namespace
}  // namespace sluice
