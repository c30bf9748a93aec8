// sluice doctor on this machine: quick, says what to do, and fails where training would.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command_runner.hpp"

namespace sluice {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

class DoctorTest : public ::testing::Test {
 protected:
  CommandResult run(std::vector<std::string> more) const {
    more.insert(more.begin(), {"doctor", "--cache-dir", folder_.file("cache")});
    return run_sluice(more);
  }
  static json check(const json& document, const std::string& name) {
    for (const json& each : document["checks"]) {
      if (each["name"] == name) return each;
    }
    return {};
  }
  TemporaryFolder folder_;
};

TEST_F(DoctorTest, ChecksEverythingInThreeSeconds) {
  const auto start = std::chrono::steady_clock::now();
  const CommandResult result = run({"--json", "-"});
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 3);
  const json document = json::parse(result.output);
  std::vector<std::string> names;
  for (const json& each : document["checks"]) {
    names.push_back(each["name"]);
    EXPECT_NE(each["found"], "") << each;
    const bool to_do = each["verdict"] != "ok";
    if (to_do && each["name"] != "huge pages") {
      EXPECT_TRUE(each["advice"].is_string()) << each;
    }
  }
  EXPECT_THAT(names, IsSupersetOf({"kernel", "io_uring", "registered buffers", "huge pages", "memory", "processors",
                                   "OMP_NUM_THREADS", "load", "memory nodes", "spill folder", "O_DIRECT", "oneDNN",
                                   "profile cache", "GPU", "MPI"}));
  EXPECT_EQ(result.exit_code, document["can_train"].get<bool>() ? 0 : 1);
}

TEST_F(DoctorTest, AFolderThatCannotBeUsedIsAProblem) {
  const CommandResult result = run({"--spill-dir", "/no/such/folder/"});
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, HasSubstr("problem  spill folder"));
  EXPECT_THAT(result.output, HasSubstr("to do: name a folder on a local disk with --spill-dir"));
  EXPECT_THAT(result.output, HasSubstr("solve the problems first"));
}

TEST_F(DoctorTest, KnowsWhoseTheProfilesAre) {
  EXPECT_THAT(check(json::parse(run({"--json", "-"}).output), "profile cache")["found"], HasSubstr("none yet"));
  ASSERT_EQ(run_sluice({"profile", "resnet20", "--batch", "2", "--threads", "1", "--slow", "optane", "--cache-dir",
                        folder_.file("cache")})
                .exit_code,
            0);
  std::ofstream(folder_.file("cache/profile-of-another.json")) << R"({"ops": {}, "version": 4})";
  std::ofstream(folder_.file("cache/profile-of-old.json")) << R"({"ops": {}, "version": 1})";
  const json found = check(json::parse(run({"--json", "-"}).output), "profile cache");
  EXPECT_THAT(found["found"], HasSubstr("3 profiles: 1 of this machine"));
  EXPECT_THAT(found["found"], HasSubstr("2 of others, 1 stale"));
  EXPECT_THAT(found["advice"], HasSubstr("remove what no run here reads: profile-of-another.json profile-of-old.json"));
}

}  // namespace
}  // namespace sluice
