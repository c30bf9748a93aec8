// The file tier on file systems of other kinds, really mounted, in a mount namespace of the command's own. Each test is
// skipped, with the reason, where the system mounts nothing for this user.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/units.hpp"
#include "tests/cli/command_runner.hpp"

namespace sluice::tests {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class MountsTest : public ::testing::Test {
 protected:
  // Runs the command where `mount` (a shell command; $1: the empty folder) has been done, its spill folder that one.
  CommandResult train_on(const std::string& mount, const Words& more) {
    const std::string folder = folder_.file("mounted");
    std::filesystem::create_directories(folder);
    const Words shell{"unshare", "--user", "--map-root-user", "--mount", "sh", "-c"};
    const Words as_root{"unshare", "--mount", "sh", "-c"};
    for (const Words& inside : {as_root, shell}) {
      if (run_program(joined(inside, {mount, "sh", folder})).exit_code != 0) continue;
      const Words command = joined({SLUICE_COMMAND, "train", "resnet20", "--threads", "1", "--slow", "file",
                                    "--spill-dir", folder, "--planner", "sentinel"},
                                   more);
      return run_program(joined(joined(inside, {mount + " && shift && exec \"$@\"", "sh", folder}), command));
    }
    return {.exit_code = kNotMounted, .output = "", .errors = ""};
  }

  std::string trained_hash(const std::string& mount) {
    const CommandResult trained = train_on(mount, joined(small_, {"--json", folder_.file("result.json")}));
    if (trained.exit_code == kNotMounted) return "";
    EXPECT_EQ(trained.exit_code, 0) << trained.errors;
    return trained.exit_code == 0 ? read_json(folder_.file("result.json"))["parameter_hash"].get<std::string>()
                                  : "failed";
  }

  static constexpr int kNotMounted = -1;
  const TemporaryFolder folder_;
  const Words small_{"--batch", "4", "--fast", "60%", "--smallest-feasible", "--steps", "2"};
};

// In memory, where direct I/O is refused or another thing; layers, whose files are another file system's; a disk of its own.
TEST_F(MountsTest, EveryFileSystemKeepsTheBits) {
  const std::string plain = trained_hash("true");
  const std::vector<std::pair<std::string, std::string>> mounts{
      {"tmpfs", "mount -t tmpfs -o size=64m none \"$1\""},
      {"overlayfs",
       "mount -t tmpfs none \"$1\" && mkdir \"$1\"/low \"$1\"/up \"$1\"/work \"$1\"/all && "
       "mount -t overlay -o lowerdir=\"$1\"/low,upperdir=\"$1\"/up,workdir=\"$1\"/work none \"$1\""},
      {"ext4", "truncate -s 64M \"$1\".image && /sbin/mkfs.ext4 -q \"$1\".image && mount -o loop \"$1\".image \"$1\""}};
  int mounted = 0;
  for (const auto& [name, mount] : mounts) {
    const std::string hash = trained_hash(mount);
    if (hash.empty()) continue;
    EXPECT_EQ(hash, plain) << name;
    ++mounted;
  }
  if (mounted == 0) GTEST_SKIP() << "nothing can be mounted here";
}

TEST_F(MountsTest, AFileSystemWithoutRoomIsToldOfBeforeTheFirstStep) {
  for (const std::string mount :
       {"mount -t tmpfs -o size=1m none \"$1\"",
        "mount -t tmpfs -o size=64m none \"$1\" && head -c 66000000 /dev/zero > \"$1\"/other"}) {
    const CommandResult full = train_on(mount, {"--batch", "64", "--fast", "60%", "--steps", "2"});
    if (full.exit_code == kNotMounted) GTEST_SKIP() << "nothing can be mounted here";
    EXPECT_THAT(full.exit_code, AnyOf(1, 2)) << full.errors;
    EXPECT_THAT(full.output, ::testing::Not(HasSubstr("step      1")));
    EXPECT_THAT(full.errors, AnyOf(HasSubstr("the slow tiers fill up (file with"), HasSubstr("no room for the spill")));
  }
}

}  // namespace
}  // namespace sluice::tests
