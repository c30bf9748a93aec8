// Every subcommand explains itself and shows an example that it accepts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/command_runner.hpp"

namespace sluice {
namespace {

using ::testing::HasSubstr;

TEST(HelpTest, EverySubcommandShowsAnExample) {
  for (const std::string name :
       {"machine", "models", "planners", "inspect", "max-batch", "characterize", "profile", "plan", "verify",
        "simulate", "train", "compare", "sweep", "report", "allocate", "explain", "doctor", "completion", "man"}) {
    const CommandResult result = run_sluice({name, "--help"});
    EXPECT_EQ(result.exit_code, 0) << name;
    EXPECT_THAT(result.output, HasSubstr("Example: sluice " + name));
    EXPECT_THAT(result.output, HasSubstr("--json"));
    EXPECT_THAT(run_sluice({"--help"}).output, HasSubstr("\n  " + name + " "));
  }
}

TEST(HelpTest, WhatIsForProgramsIsNotShown) {
  EXPECT_THAT(run_sluice({"--help"}).output, Not(HasSubstr("worker")));
  EXPECT_THAT(run_sluice({"--help"}).output, Not(HasSubstr("gradients")));
  EXPECT_THAT(run_sluice({"gradients", "--help"}).output, HasSubstr("Example: sluice gradients"));
}

TEST(HelpTest, EveryCommandOfAModelTakesItsOptions) {
  for (const std::string name :
       {"characterize", "profile", "plan", "verify", "explain", "simulate", "train", "compare", "gradients"}) {
    const std::string help = run_sluice({name, "--help"}).output;
    for (const char* option :
         {"--onnx", "--sequence", "--width", "--depth", "--dropout", "--optimizer", "--beta2", "--precision",
          "--clip-norm", "--accumulate", "--delay-updates", "--finer-slices", "--keep-norm-outputs"}) {
      EXPECT_THAT(help, HasSubstr(option)) << name;
    }
  }
}

TEST(HelpTest, ListsPlannersAndVersion) {
  EXPECT_THAT(run_sluice({"train", "--help"}).output, HasSubstr("on-demand"));
  EXPECT_THAT(run_sluice({"--version"}).output, HasSubstr("sluice 0."));
}

TEST(HelpTest, ModelsAreListedWithTheirSizes) {
  const CommandResult result = run_sluice({"models"});
  EXPECT_EQ(result.exit_code, 0);
  for (const char* model : {"resnet20", "resnet110", "resnet50", "resnet200", "vgg16", "plain20"}) {
    EXPECT_THAT(result.output, HasSubstr(std::string("\n") + model + " "));
  }
}

}  // namespace
}  // namespace sluice
