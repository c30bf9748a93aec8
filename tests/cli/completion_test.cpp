// Completion as shells do it: bash's function is called with words, fish is asked, zsh reads the script.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/cli/command_runner.hpp"

namespace sluice {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsSubsetOf;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Those that an option's help names: "--optimizer sgd|adam=sgd", whose last is the default.
std::vector<std::string> words_of(const std::string& option) {
  const std::string help = run_sluice({"train", "--help"}).output;
  std::stringstream words(help.substr(help.find(option + " ") + option.size() + 1));
  std::string all;
  words >> all;
  std::stringstream parts(all.substr(0, all.find('=')));
  std::vector<std::string> found;
  for (std::string word; std::getline(parts, word, '|');) found.push_back(word);
  return found;
}

class CompletionTest : public ::testing::Test {
 protected:
  // The script for a shell, in a file.
  std::string script(const std::string& shell) {
    const CommandResult result = run_sluice({"completion", shell});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    const std::string path = folder_.file("sluice." + shell);
    std::ofstream(path) << result.output;
    return path;
  }
  // What bash offers where the cursor stands behind `words`, which are as bash splits them.
  std::vector<std::string> bash(const std::string& words) {
    const std::string program = "source " + script("bash") + "; COMP_WORDS=(" + words +
                                "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); cd " + folder_.path().string() +
                                "; _sluice; printf '%s\\n' \"${COMPREPLY[@]}\"";
    const CommandResult result = run_program({"bash", "--norc", "-u", "-c", program});
    EXPECT_EQ(result.errors, "") << words;
    return lines_of(result.output);
  }

  TemporaryFolder folder_;
};

TEST_F(CompletionTest, BashOffersCommandsAndOptions) {
  EXPECT_THAT(bash("sluice ''"), IsSupersetOf({"train", "plan", "doctor", "completion", "man"}));
  EXPECT_THAT(bash("sluice ''"), Not(Contains("worker")));
  EXPECT_THAT(bash("sluice tr"), ElementsAre("train"));
  EXPECT_THAT(bash("sluice --quiet pla"), ElementsAre("planners", "plan"));
  EXPECT_THAT(bash("sluice --colour never mod"), ElementsAre("models"));
  EXPECT_THAT(bash("sluice train --checkpoint-"), ElementsAre("--checkpoint-every"));
  EXPECT_THAT(bash("sluice -"), IsSupersetOf({"--version", "--help", "-q"}));
}

// Words as bash splits them at ':' and '='.
TEST_F(CompletionTest, BashGoesOnBehindValuesThatItSplits) {
  EXPECT_THAT(bash("sluice plan --fast auto : 5% resnet3"), ElementsAre("resnet32", "resnet34"));
  EXPECT_THAT(bash("sluice train --slow numa : 1 : 8GiB resnet20 --checkpoint-"), ElementsAre("--checkpoint-every"));
  EXPECT_THAT(bash("sluice compare resnet20 --planners sentinel : additions = none,join"), ElementsAre("none,joint"));
}

TEST_F(CompletionTest, BashOffersWordsAndNames) {
  EXPECT_THAT(bash("sluice train --optimizer ''"), ElementsAreArray(words_of("--optimizer")));
  EXPECT_THAT(bash("sluice train --precision = bf"), ElementsAre("bf16", "bf16-masters"));
  EXPECT_THAT(bash("sluice train --precision ="), ElementsAre("fp32", "bf16", "bf16-masters", "fp16-masters"));
  EXPECT_THAT(bash("sluice train densenet12"), ElementsAre("densenet121"));
  EXPECT_THAT(bash("sluice train --batch 4 densenet12"), ElementsAre("densenet121")) << "4 is a value, no argument";
  EXPECT_THAT(bash("sluice plan resnet50 --planner autotm-s"), ElementsAre("autotm-static", "autotm-sync"));
  EXPECT_THAT(bash("sluice compare resnet50 --planners sentinel,join"), ElementsAre("sentinel,joint"));
  EXPECT_THAT(bash("sluice sweep resnet50 resnet3"), IsSupersetOf({"resnet32"}));
  EXPECT_THAT(bash("sluice train --slow pc"), ElementsAre("pcie3"));
  EXPECT_THAT(bash("sluice completion f"), ElementsAre("fish"));
}

TEST_F(CompletionTest, BashOffersFilesWhereOneIsExpected) {
  std::ofstream(folder_.file("one.json")) << "";
  std::filesystem::create_directory(folder_.file("spill"));
  EXPECT_THAT(bash("sluice train resnet20 --plan on"), ElementsAre("one.json"));
  EXPECT_THAT(bash("sluice verify on"), ElementsAre("one.json"));
  EXPECT_THAT(bash("sluice verify one.json densenet12"), ElementsAre("densenet121"))
      << "the second argument is a model";
  EXPECT_THAT(bash("sluice train --spill-dir ''"), ElementsAre("spill")) << "folders alone";
  EXPECT_THAT(bash("sluice train --batch ''"), ElementsAre("")) << "nobody knows which";
}

TEST_F(CompletionTest, EveryOptionOfEveryCommandIsOfferedByBash) {
  for (const std::string command : {"train", "compare", "sweep", "allocate", "doctor"}) {
    const std::vector<std::string> offered = bash("sluice " + command + " -");
    std::istringstream help(run_sluice({command, "--help"}).output);
    std::vector<std::string> shown;
    for (std::string line; std::getline(help, line);) {
      if (!line.starts_with("  -")) continue;
      std::istringstream names(line.substr(2, line.find(' ', 2) - 2));
      for (std::string name; std::getline(names, name, ',');) shown.push_back(name);
    }
    EXPECT_GT(shown.size(), 5U) << command;
    EXPECT_THAT(shown, IsSubsetOf(offered)) << command;
  }
}

TEST_F(CompletionTest, ZshReadsTheScriptAndKnowsTheCommands) {
  if (!is_installed("zsh")) GTEST_SKIP() << "no zsh here";
  const std::string path = script("zsh");
  const CommandResult parsed = run_program({"zsh", "-f", "-n", path});
  EXPECT_EQ(parsed.exit_code, 0) << parsed.errors;
  const CommandResult loaded = run_program(
      {"zsh", "-f", "-c",
       "autoload -Uz compinit && compinit -D -u && source " + path + " && print $_comps[sluice] && whence -w _sluice"});
  EXPECT_THAT(lines_of(loaded.output), ElementsAre("_sluice", "_sluice: function")) << loaded.errors;
  EXPECT_THAT(read_text(path), HasSubstr("'(-q --quiet)'{-q,--quiet}'[Say nothing but results"));
}

// A terminal of its own, in which zsh completes what is typed.
TEST_F(CompletionTest, ZshCompletes) {
  if (!is_installed("zsh")) GTEST_SKIP() << "no zsh here";
  const std::string program =
      "zmodload zsh/zpty; zpty z zsh -f; zpty -w z 'PS1=; autoload -Uz compinit && compinit -D -u; source " +
      script("zsh") +
      "; bindkey \"^I\" complete-word'; zpty -w z 'echo rea''dy'; zpty -r z line '*ready*'; "
      "zpty -w -n z $'sluice train resnet20 --optimizer adamw --checkpoint-e\\t'; zpty -r -m z line '*--checkpoint-every*' "
      "&& print found; zpty -d z";
  const CommandResult result = run_program({"timeout", "30", "zsh", "-f", "-c", program});
  EXPECT_THAT(result.output, HasSubstr("found")) << result.errors;
}

TEST_F(CompletionTest, FishOffersWhatThereIs) {
  if (!is_installed("fish")) GTEST_SKIP() << "no fish here";
  const std::string path = script("fish");
  const CommandResult parsed = run_program({"fish", "--no-config", "--no-execute", path});
  EXPECT_EQ(parsed.exit_code, 0) << parsed.errors;
  const auto offered = [&](const std::string& typed) {
    return run_program({"fish", "--no-config", "-c", "source " + path + "; complete -C '" + typed + "'"}).output;
  };
  EXPECT_THAT(offered("sluice tr"), HasSubstr("train\t"));
  EXPECT_THAT(offered("sluice train --optimizer "), HasSubstr("adamw"));
  EXPECT_THAT(offered("sluice train --checkpoint-e"), HasSubstr("--checkpoint-every"));
  EXPECT_THAT(offered("sluice train resnet5"), HasSubstr("resnet50"));
  EXPECT_THAT(offered("sluice compare resnet50 --planners sentinel,join"), HasSubstr("sentinel,joint"));
}

TEST_F(CompletionTest, OtherShellsAreNamedAsUnknown) {
  const CommandResult result = run_sluice({"completion", "tcsh"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("no completion for 'tcsh'; there is one for bash, zsh and fish"));
}

}  // namespace
}  // namespace sluice
