#include "sluice/base/limits/control_group.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace sluice {
namespace {

class ControlGroupTest : public ::testing::Test {
 protected:
  ControlGroupTest() {
    std::string pattern = (std::filesystem::path(::testing::TempDir()) / "sluice-cgroup-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  ~ControlGroupTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  void write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << "\n";
  }

  std::filesystem::path root_;
};

TEST_F(ControlGroupTest, TheTightestGroupAboveCounts) {
  write("proc/self/cgroup", "0::/user/service");
  write("sys/fs/cgroup/user/service/memory.max", "max");
  write("sys/fs/cgroup/user/service/cpu.max", "400000 100000");
  write("sys/fs/cgroup/user/memory.max", "1073741824");
  write("sys/fs/cgroup/user/cpu.max", "150000 100000");
  write("sys/fs/cgroup/cpu.max", "max 100000");
  const GroupLimits limits = read_group_limits(root_);
  EXPECT_EQ(limits.memory, kGiB);
  EXPECT_EQ(limits.processors, 1.5);
}

TEST_F(ControlGroupTest, VersionOneHasAFolderOfEachController) {
  write("proc/self/cgroup", "4:memory:/job\n1:cpu,cpuacct:/job\n0::/");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2147483648");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000");
  write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  const GroupLimits limits = read_group_limits(root_);
  EXPECT_EQ(limits.memory, 2 * kGiB);
  EXPECT_EQ(limits.processors, 0.5);
}

TEST_F(ControlGroupTest, WhereAProgramIsSlowedDownIsALimit) {
  write("proc/self/cgroup", "0::/service");
  write("sys/fs/cgroup/service/memory.max", "2147483648");
  write("sys/fs/cgroup/service/memory.high", "1073741824");
  write("sys/fs/cgroup/service/memory.swap.max", "0");
  const GroupLimits limits = read_group_limits(root_);
  EXPECT_EQ(limits.memory, kGiB);
  EXPECT_EQ(limits.swap, 0);
}

TEST_F(ControlGroupTest, VersionOneLimitsMemoryAndSwapTogether) {
  write("proc/self/cgroup", "4:memory:/job");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2147483648");
  write("sys/fs/cgroup/memory/job/memory.memsw.limit_in_bytes", "3221225472");
  EXPECT_EQ(read_group_limits(root_).swap, kGiB);
}

// A container sees its own group as the root, by a path that is not there.
TEST_F(ControlGroupTest, WhatIsMountedCountsWhereThePathIsOfTheHost) {
  write("proc/self/cgroup", "4:memory:/docker/0123\n0::/../..");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824");
  EXPECT_EQ(read_group_limits(root_).memory, kGiB);
}

TEST_F(ControlGroupTest, NothingIsLimitedWhereNothingSaysSo) {
  EXPECT_FALSE(read_group_limits(root_).memory);
  write("proc/self/cgroup", "0::/\nnonsense\n");
  write("sys/fs/cgroup/memory.max", "max");
  EXPECT_FALSE(read_group_limits(root_).memory);
  EXPECT_FALSE(read_group_limits(root_).processors);
}

}  // namespace
}  // namespace sluice
