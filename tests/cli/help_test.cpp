// What --help and the lists say, how much a command says, and what bash completes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>

#include "tests/cli/command_runner.hpp"
#include "tools/process/exit_codes.hpp"

namespace sluice::tests {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

bool is_ascii(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 128; });
}

TEST(HelpTest, EveryCommandShowsAnExample) {
  const std::string help = call_sluice({"--help"}).output;
  for (const std::string name :
       {"machine", "models", "planners", "inspect", "max-batch", "characterize", "profile", "plan", "verify", "explain",
        "simulate", "train", "compare", "sweep", "report", "allocate", "doctor", "completion"}) {
    const CommandResult result = call_sluice({name, "--help"});
    EXPECT_EQ(result.exit_code, 0) << name;
    EXPECT_THAT(result.output, HasSubstr("Example: sluice " + name));
    EXPECT_TRUE(is_ascii(result.output)) << name;
    EXPECT_THAT(help, HasSubstr("\n  " + name + " "));
  }
  EXPECT_THAT(help, AllOf(Not(HasSubstr("worker")), Not(HasSubstr("gradients")), Not(HasSubstr("\n  man "))));
  EXPECT_THAT(call_sluice({"gradients", "--help"}).output, HasSubstr("Example: sluice gradients"));
}

TEST(HelpTest, EveryCommandOfAModelTakesItsOptions) {
  for (const std::string name :
       {"characterize", "profile", "plan", "verify", "explain", "simulate", "train", "compare", "gradients"}) {
    const std::string help = call_sluice({name, "--help"}).output;
    for (const char* option :
         {"--onnx", "--sequence", "--width", "--depth", "--dropout", "--optimizer", "--beta2", "--precision",
          "--clip-norm", "--accumulate", "--delay-updates", "--finer-slices", "--keep-norm-outputs"}) {
      EXPECT_THAT(help, HasSubstr(option)) << name;
    }
  }
}

TEST(HelpTest, ListsAreInAscii) {
  for (const Words& command : {Words{"models"}, Words{"planners"}, Words{"doctor"}, tiny("inspect")}) {
    const CommandResult result = call_sluice(command);
    EXPECT_TRUE(is_ascii(result.output)) << command.front();
  }
  const std::string placements = call_sluice(tiny("profile", {"--placements"})).output;
  EXPECT_THAT(placements, AllOf(HasSubstr("with operands in optane (emulated)"), HasSubstr("all slow")));
}

TEST(HelpTest, ThePageListsTheSameExitCodes) {
  const std::string page = read_text(SLUICE_SOURCE_FOLDER "/docs/command-line.md");
  const std::string help = call_sluice({"--help"}).output;
  std::istringstream lines(help.substr(help.find("Exit status:\n")));
  std::string line;
  std::getline(lines, line);
  int codes = 0;
  for (; std::getline(lines, line) && !line.empty(); ++codes) {
    const std::string code = line.substr(2, 3);
    EXPECT_THAT(page, HasSubstr("| " + code.substr(code.find_first_not_of(' ')) + " | " + line.substr(7) + " |"));
  }
  EXPECT_EQ(codes, 4);
}

// Before and behind the command's name. The search is cut short, which is worth a note.
TEST(HelpTest, QuietAndVerboseSayLessAndMore) {
  const Words plan = tiny("plan", {"--fast", "60%", "--planning-time", "1e-9"});
  const CommandResult usual = call_sluice(plan);
  EXPECT_THAT(usual.errors, AllOf(HasSubstr("note: the search for a plan was cut short"), Not(HasSubstr("debug"))));
  EXPECT_THAT(usual.output, AllOf(HasSubstr("plan by joint"), HasSubstr("stopped_early")));
  const CommandResult quiet = call_sluice(joined({"-q"}, plan));
  EXPECT_THAT(quiet.errors, IsEmpty());
  EXPECT_EQ(quiet.exit_code, 0);
  EXPECT_THAT(call_sluice(joined(plan, {"--quiet"})).errors, IsEmpty());
  EXPECT_THAT(call_sluice(joined({"-q"}, tiny("plan", {"--fast", "0%"}))).errors, HasSubstr("above 0%"));
  const std::string verbose = call_sluice(tiny("plan", {"--fast", "60%", "-v"})).errors;
  EXPECT_THAT(verbose, AllOf(HasSubstr("sluice: debug: profile cache "), HasSubstr("joint plans resnet20 in "),
                             HasSubstr("the best so far")));
}

// Which planner says what when it is stopped: planners/registry/little_choice_test.cpp.
TEST(HelpTest, AnExitStatusSaysWhoCanHelp) {
  EXPECT_EQ(cli::exit_code_of(ErrorCode::kOutOfTime), 2) << "a time that is too short is asked for, not Ctrl-C";
  EXPECT_EQ(cli::exit_code_of(ErrorCode::kInterrupted), 130);
  EXPECT_EQ(cli::exit_code_of(ErrorCode::kBadInput), 2);
  EXPECT_EQ(cli::exit_code_of(ErrorCode::kIo), 1);
}

TEST(HelpTest, DoctorSaysWhatToDo) {
  const auto start = std::chrono::steady_clock::now();
  const json document = document_of({"doctor"});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
  Words names;
  for (const json& each : document["checks"]) {
    names.push_back(each["name"]);
    EXPECT_NE(each["found"], "") << each;
    const bool to_do = each["verdict"] != "ok" && each["name"] != "huge pages";
    EXPECT_TRUE(!to_do || each["advice"].is_string()) << each;
  }
  EXPECT_THAT(names, IsSupersetOf({"kernel", "io_uring", "registered buffers", "huge pages", "memory", "processors",
                                   "OMP_NUM_THREADS", "load", "memory nodes", "spill folder", "O_DIRECT", "oneDNN",
                                   "profile cache", "GPU", "MPI"}));
  const CommandResult nowhere = call_sluice({"doctor", "--spill-dir", "/no/such/folder/"});
  EXPECT_EQ(nowhere.exit_code, 1) << nowhere.output;
  EXPECT_THAT(nowhere.output, AllOf(HasSubstr("problem  spill folder"), HasSubstr("solve the problems first"),
                                    HasSubstr("to do: name a folder on a local disk with --spill-dir")));
}

// As bash calls it: COMP_WORDS as it splits them at ':' and '='.
class CompletionTest : public ::testing::Test {
 protected:
  CompletionTest() {
    std::ofstream(folder_.file("sluice.bash")) << call_sluice({"completion", "bash"}).output;
    std::ofstream(folder_.file("one.json")) << "";
    std::filesystem::create_directory(folder_.file("spill"));
  }
  // What is offered behind words typed after the command's name.
  Words offered(const std::string& typed) const {
    const std::string program = "cd " + folder_.path().string() + "; source sluice.bash; COMP_WORDS=(" +
                                SLUICE_COMMAND + " " + typed +
                                "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _sluice; printf '%s\\n' \"${COMPREPLY[@]}\"";
    const CommandResult result = run_program({"bash", "--norc", "-u", "-c", program});
    EXPECT_EQ(result.errors, "") << typed;
    Words lines;
    std::istringstream stream(result.output);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }

  TemporaryFolder folder_;
};

TEST_F(CompletionTest, BashOffersCommandsAndOptions) {
  EXPECT_THAT(offered("''"), AllOf(IsSupersetOf({"train", "plan", "doctor", "completion"}), Not(Contains("worker"))));
  EXPECT_THAT(offered("--colour never mod"), ElementsAre("models"));
  EXPECT_THAT(offered("train --checkpoint-"), ElementsAre("--checkpoint-every"));
  EXPECT_THAT(offered("train -"), IsSupersetOf({"-q", "--quiet", "--planner", "--json", "--smallest-feasible"}));
}

TEST_F(CompletionTest, BashOffersWordsNamesAndFiles) {
  EXPECT_THAT(offered("train --optimizer ''"), ElementsAre("sgd", "adam", "adamw", "lion"));
  EXPECT_THAT(offered("train --precision = bf"), ElementsAre("bf16", "bf16-masters"));
  EXPECT_THAT(offered("train densenet12"), ElementsAre("densenet121"));
  EXPECT_THAT(offered("plan --fast auto : 5% densenet12"), ElementsAre("densenet121"));
  EXPECT_THAT(offered("compare resnet50 --planners sentinel,join"), ElementsAre("sentinel,joint"));
  EXPECT_THAT(offered("train resnet20 --plan on"), ElementsAre("one.json"));
  EXPECT_THAT(offered("verify on"), ElementsAre("one.json"));
  EXPECT_THAT(offered("train --spill-dir ''"), ElementsAre("spill")) << "folders alone";
  EXPECT_THAT(offered("train --batch ''"), ElementsAre("")) << "nobody knows which";
}

}  // namespace
}  // namespace sluice::tests
