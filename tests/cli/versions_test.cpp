// Files of another version are refused by name, with the version found, those that are read, and what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command_runner.hpp"

namespace sluice {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class VersionsTest : public ::testing::Test {
 protected:
  static CommandResult run(std::vector<std::string> command, const std::vector<std::string>& more) {
    command.insert(command.end(), {"resnet20", "--batch", "2", "--threads", "1", "--slow", "optane"});
    command.insert(command.end(), more.begin(), more.end());
    return run_sluice(command);
  }
  static void make(const std::vector<std::string>& command, const std::vector<std::string>& more) {
    const CommandResult result = run(command, more);
    ASSERT_EQ(result.exit_code, 0) << result.errors;
  }
  void set_version(const std::string& file, const json& version) const {
    json document = json::parse(read_text(folder_.file(file)));
    document["version"] = version;
    std::ofstream(folder_.file(file)) << document;
  }
  void expect_refused(const CommandResult& result, const std::string& file, const std::string& message) const {
    EXPECT_EQ(result.exit_code, 2) << result.errors;
    EXPECT_THAT(result.errors, AllOf(HasSubstr(folder_.file(file)), HasSubstr(message)));
  }

  TemporaryFolder folder_;
};

TEST_F(VersionsTest, PlansOfNewerAndOlderSluices) {
  make({"plan"}, {"--fast", "60%", "-o", folder_.file("plan.json")});
  set_version("plan.json", 99);
  const std::string newer =
      "/version: found 99, and this sluice reads 1 to 8: the file is of a newer sluice; plan again";
  expect_refused(run({"verify", folder_.file("plan.json")}, {}), "plan.json", newer);
  expect_refused(run({"train"}, {"--plan", folder_.file("plan.json"), "--steps", "1"}), "plan.json", newer);
  expect_refused(run({"plan"}, {"--choices-of", folder_.file("plan.json")}), "plan.json", newer);
  set_version("plan.json", 0);
  expect_refused(run({"verify", folder_.file("plan.json")}, {}), "plan.json",
                 "found 0, and this sluice reads 1 to 8: the file is of an older sluice; plan again");
}

TEST_F(VersionsTest, ProfilesOfNewerAndOlderSluices) {
  const std::string path = folder_.file("profile.json");
  make({"profile"}, {"--save", path});
  set_version("profile.json", 9);
  expect_refused(run({"plan"}, {"--profile", path}), "profile.json",
                 "found 9, and this sluice reads 2: the file is of a newer sluice; save one again");
  set_version("profile.json", 1);
  expect_refused(run({"plan"}, {"--profile", path}), "profile.json",
                 "found 1, and this sluice reads 2: the file is of an older");
}

TEST_F(VersionsTest, DocumentsOfOtherKindsAndVersions) {
  const std::string path = folder_.file("result.json");
  make({"plan"}, {"--fast", "60%", "--json", path});
  expect_refused(run({"verify", path}, {}), "result.json",
                 "not a plan file: expected \"sluice-plan\", found \"sluice-json\"");
  expect_refused(run({"plan"}, {"--profile", path}), "result.json", "not a saved profile");
  set_version("result.json", 2);
  expect_refused(run({"plan"}, {"--accesses", path}), "result.json",
                 "found 2, and this sluice reads 1: the file is of a newer sluice; run sluice profile again");
}

TEST_F(VersionsTest, AccessCountsOfAnotherVersion) {
  const std::string path = folder_.file("counts.json");
  make({"profile"}, {"--accesses", "--save", path});
  json document = json::parse(read_text(path));
  document["accesses"]["version"] = 5;
  std::ofstream(path) << document;
  expect_refused(run({"plan"}, {"--accesses", path}), "counts.json",
                 "found 5, and this sluice reads 1: the file is of a newer sluice; count accesses again");
}

// The header of a checkpoint is JSON behind eight letters and its length: a version of as many digits fits in place.
TEST_F(VersionsTest, CheckpointsOfAnotherVersion) {
  const std::string path = folder_.file("run.ckpt");
  make({"train"}, {"--fast", "60%", "--steps", "1", "--checkpoint", path});
  std::string bytes = read_text(path);
  const std::size_t version = bytes.find("\"version\":2");
  ASSERT_NE(version, std::string::npos);
  bytes[version + std::strlen("\"version\":")] = '7';
  std::ofstream(path, std::ios::binary) << bytes;
  expect_refused(run({"train"}, {"--fast", "60%", "--steps", "2", "--resume", path}), "run.ckpt",
                 "found 7, and this sluice reads 2: the file is of a newer sluice");
}

TEST_F(VersionsTest, CachesOfAnotherVersionAreMeasuredAgainAndSaid) {
  const std::string cache = folder_.file("cache");
  make({"profile"}, {"--cache-dir", cache});
  for (const auto& entry : std::filesystem::directory_iterator(cache)) {
    json document = json::parse(read_text(entry.path()));
    document["version"] = 3;
    std::ofstream(entry.path()) << document;
  }
  const CommandResult result = run({"profile"}, {"--cache-dir", cache});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.errors, HasSubstr("is of format version 3, this sluice has 4: measuring again"));
}

}  // namespace
}  // namespace sluice
