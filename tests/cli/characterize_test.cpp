// sluice characterize: what it prints, writes and draws, and that the numbers agree with each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command_runner.hpp"

namespace sluice {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CharacterizeTest : public ::testing::Test {
 protected:
  // Runs on a small batch and returns the JSON that was written.
  json run(const std::string& model, std::vector<std::string> arguments = {}) {
    const std::string path = folder_.file("out.json");
    std::vector<std::string> all{"characterize", model, "--batch", "2", "--threads", "1", "--json", path};
    all.insert(all.end(), arguments.begin(), arguments.end());
    result_ = run_sluice(all);
    EXPECT_EQ(result_.exit_code, 0) << result_.errors;
    return json::parse(read_text(path));
  }

  static std::int64_t tensors(const json& by_size) {
    return by_size["small"]["tensors"].get<std::int64_t>() + by_size["large"]["tensors"].get<std::int64_t>();
  }

  TemporaryFolder folder_;
  CommandResult result_;
};

TEST_F(CharacterizeTest, WithoutAccessesTellsLifetimesDistancesAndTheBound) {
  const json found = run("resnet20", {"--no-accesses"});
  const std::int64_t all = tensors(found["short_lived"]) + tensors(found["long_lived"]);
  std::int64_t in_rows = 0;
  for (const json& row : found["lifetimes"]) in_rows += tensors(row);
  EXPECT_EQ(in_rows, all);
  EXPECT_EQ(found["bound"]["bytes"], found["bound"]["short_lived_peak_bytes"].get<std::int64_t>() +
                                         found["bound"]["largest_long_lived_bytes"].get<std::int64_t>());
  const json& live = found["live"];
  ASSERT_EQ(live["persistent"].size(), live["short_lived"].size());
  std::int64_t peak = 0;
  for (std::size_t op = 0; op < live["persistent"].size(); ++op) {
    peak = std::max(peak, live["persistent"][op].get<std::int64_t>() + live["long_lived"][op].get<std::int64_t>() +
                              live["short_lived"][op].get<std::int64_t>());
  }
  EXPECT_EQ(live["peak_bytes"], peak);
  EXPECT_FALSE(found.contains("hot_and_cold"));
  EXPECT_FALSE(found.contains("published"));
  EXPECT_THAT(result_.output, AllOf(HasSubstr("lower bound on fast memory"), Not(HasSubstr("paper"))));
}

TEST_F(CharacterizeTest, AccessesTellHotAndColdTensorsAndFalseSharing) {
  const json found = run("resnet20");
  std::int64_t by_heat = 0;
  for (const json& row : found["hot_and_cold"]) by_heat += row["accesses"].get<std::int64_t>();
  std::int64_t by_distance = 0;
  for (const json& row : found["distances"]) by_distance += row["accesses"].get<std::int64_t>();
  EXPECT_GT(by_heat, 0);
  EXPECT_EQ(by_heat, by_distance);
  const json& sharing = found["false_sharing"];
  EXPECT_GE(sharing["misclassed_bytes"], sharing["misclassed_together_bytes"]);
  EXPECT_EQ(found["accesses"]["provenance"], "measured");
  EXPECT_THAT(result_.output, HasSubstr("accesses a page"));
}

TEST_F(CharacterizeTest, ReorganisedPagesMoveLess) {
  const json found = run("resnet20", {"--no-accesses", "--fast", "60%"});
  const json& pages = found["page_migration"][0];
  EXPECT_EQ(pages["page_bytes"], 4096);
  const auto moved = [&](const char* layout) {
    return pages.at(layout)["in"].get<std::int64_t>() + pages.at(layout)["out"].get<std::int64_t>();
  };
  EXPECT_LT(moved("reorganized"), moved("allocation_order"));
}

TEST_F(CharacterizeTest, OnlyThePapersModelHasThePapersFigures) {
  const json found = run("resnet32", {"--no-accesses"});
  const json& first = found["published"][0];
  EXPECT_EQ(first["published"], 92);
  EXPECT_GT(first["here"], 0);
  EXPECT_LT(first["here"], 100);
  EXPECT_TRUE(found["published"][2]["here"].is_null()) << "accesses were not counted";
  EXPECT_THAT(result_.output, AllOf(HasSubstr("paper"), HasSubstr("92.0 %"), HasSubstr("not measured")));
  EXPECT_THAT(result_.output, HasSubstr("batch 2, the paper's is 128"));
}

TEST_F(CharacterizeTest, DrawsAPage) {
  run("squeezenet1_1", {"--no-accesses", "--image-size", "64", "--html", folder_.file("page.html")});
  EXPECT_THAT(read_text(folder_.file("page.html")),
              AllOf(StartsWith("<!doctype html>"), HasSubstr("<h1>squeezenet1_1, "), HasSubstr("peak of live bytes")));
}

TEST_F(CharacterizeTest, BadInputIsRefused) {
  std::ofstream(folder_.file("file")) << "in the way";
  const auto errors = [&](std::vector<std::string> more, int exit_code) {
    std::vector<std::string> all{"characterize", "resnet20", "--batch", "2", "--no-accesses"};
    all.insert(all.end(), more.begin(), more.end());
    const CommandResult result = run_sluice(all);
    EXPECT_EQ(result.exit_code, exit_code) << result.errors;
    return result.errors;
  };
  EXPECT_THAT(errors({"--fast", "lots"}, 2), HasSubstr("'lots' is not a size"));
  EXPECT_THAT(errors({"--svg", "pictures"}, 2), HasSubstr("--html FILE writes a page"));
  EXPECT_THAT(errors({"--json", "/no/such/place/out.json"}, 1), HasSubstr("cannot write /no/such/place/out.json"));
}

TEST_F(CharacterizeTest, TooLittleFastMemoryForPagesIsSaidAndTheRestShown) {
  const json found = run("resnet20", {"--no-accesses", "--fast", "16KiB"});
  EXPECT_TRUE(found["page_migration"][0].contains("error"));
  EXPECT_TRUE(found.contains("bound"));
}

}  // namespace
}  // namespace sluice
