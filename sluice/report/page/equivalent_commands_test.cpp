#include "sluice/report/page/equivalent_commands.hpp"

#include <gtest/gtest.h>

namespace sluice::report {
namespace {

TEST(EquivalentCommands, LeaveOutWhatOnlyAReportKnows) {
  const std::vector<std::string> typed{"report",     "resnet50", "--batch",     "16",    "--fast=20%", "-o", "my page",
                                       "--planners", "redl",     "--curve=20%", "--run", "--starts",   "2"};
  const std::vector<ReportCommand> commands = equivalent_commands(typed, "20%", "joint", "fast-only,redl,joint");
  ASSERT_EQ(commands.size(), 5U);
  EXPECT_EQ(commands[0].command,
            "sluice report resnet50 --batch 16 --fast=20% -o 'my page' --planners redl --curve=20% "
            "--run --starts 2");
  EXPECT_EQ(commands[1].command, "sluice plan resnet50 --batch 16 --fast=20% --planner joint -o plan.json");
  EXPECT_EQ(commands[4].command, "sluice compare resnet50 --batch 16 --fast=20% --planners fast-only,redl,joint");
}

TEST(EquivalentCommands, QuoteForAShell) {
  const std::vector<std::string> typed{"report", "--onnx", "it's mine.onnx", "-opage.html"};
  EXPECT_EQ(equivalent_commands(typed, "20%", "joint", "joint")[1].command,
            "sluice plan --onnx 'it'\\''s mine.onnx' --fast 20% --planner joint -o plan.json");
}

}  // namespace
}  // namespace sluice::report
