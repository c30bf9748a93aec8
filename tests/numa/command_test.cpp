// The command with memory nodes as tiers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/command_runner.hpp"
#include "tests/numa/machine_nodes.hpp"

namespace sluice::tests {
namespace {

using ::testing::HasSubstr;

TEST(NumaCommand, MachineShowsBothNodes) {
  const MachineNodes nodes = machine_nodes();
  const CommandResult result = run_sluice({"machine", "--slow", numa_tier(nodes.slow)});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, ::testing::ContainsRegex("numa:0 +numa "));
  EXPECT_THAT(result.output, ::testing::ContainsRegex(numa_tier(nodes.slow) + " +numa "));
  EXPECT_THAT(result.output, HasSubstr("numa:0 -> " + numa_tier(nodes.slow)));
  EXPECT_EQ(result.output.find("emulated"), std::string::npos);
  if (nodes.memoryless) {
    EXPECT_EQ(result.output.find("firmware"), std::string::npos);
  } else {
    EXPECT_THAT(result.output, HasSubstr("firmware"));
    EXPECT_THAT(result.output, ::testing::ContainsRegex("numa:1 .* 0.2 us .* firmware"));
  }
}

TEST(NumaCommand, BadNodesEndWithAMessage) {
  const CommandResult result = run_sluice({"machine", "--slow", "numa:9"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.errors, HasSubstr("memory node 9 does not exist"));
}

}  // namespace
}  // namespace sluice::tests
