// Bad input gets exit code 2 and one clear message on standard error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/cli/command_runner.hpp"

namespace sluice::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct BadInput {
  std::string line;  // '' is an empty word
  std::string message;
};

const std::vector<BadInput> kAll{
    {"", "subcommand"},
    {"fly", "unknown command 'fly'"},
    {"models --fly", "--fly"},
    {"train", "model"},
    {"train resnet21", "did you mean 'resnet20'"},
    {"train resnet20 --batch 0", "batch must be from 1"},
    {"train resnet20 --batch -4", "got -4"},
    {"train resnet20 --batch many", "many"},
    {"train resnet20 --image-size 0", "--image-size must be above 0"},
    {"train resnet50 --batch 1 --image-size 8", "image size"},
    {"train resnet20 --finer-slices 0", "--finer-slices must be from 1 to 64, got 0"},
    {"plan resnet20 --planning-time 0", "--planning-time must be above 0, got 0"},
    {"train resnet20 --classes -1", "--classes must be above 0"},
    {"train resnet20 --threads 100000", "number of processors"},
    {"train resnet20 --threads -1", "number of processors"},
    {"train resnet20 --slow tape", "tape"},
    {"train resnet20 --slow numa:one", "'numa:one' names no memory node"},
    {"machine --slow pcie3:100", "--slow pcie3:100: a tier has at least 4.0 KiB"},
    {"machine --slow pcie3:much", "'much' is not a size"},
    {"machine --slow pcie3:20%", "does not know what everything takes"},
    {"plan resnet20 --slow optane:1GiB --slow optane", "slow tier 'optane' is named twice"},
    {"simulate resnet20 --batch 2 --threads 1 --slow optane --slow pmbd --planner ial",
     "policy ial has one slow tier and this machine has 2"},
    {"plan resnet20 --estimate --batch 8 --fast 50% --slow optane:64KiB --slow pcie3:1MiB --planner sentinel",
     "the slow tiers fill up (optane with 64.0 KiB, pcie3 with 1.0 MiB)"},
    {"train resnet20 --processors device:1,host@abacus:1", "there is no backend 'abacus'"},
    {"train resnet20 --processors device@cuda:1,host:1", "a GPU computes with --gpu, as the only processor"},
    {"train resnet20 --slow host", "add --gpu"},
    {"train resnet20 --processors device:1,host@reference:1 --on host:backward", "processor 'host' cannot run"},
    {"train resnet20 --spill-dir /no/such/place", "/no/such/place"},
    {"plan resnet20 --fast lots", "'lots' is not a size"},
    {"plan resnet20 --fast 0%", "above 0%"},
    {"plan resnet20 --fast auto:some", "'some' is not a percentage"},
    {"train lstm --sequences 8-16 --fast auto", "no one step"},
    {"machine --link-bandwidth fast", "'fast' is not a bandwidth"},
    {"compare resnet20 --planners oracle", "unknown planner 'oracle'"},
    {"compare resnet20 --planners sentinel:migration=directly",
     "choice, staying, in-place, ahead, prices, lending, encode; or sentinel:NAME=VALUE with migration one of direct, intervals, all"},
    {"compare resnet20 --planners sentinel --starts 0", "--starts 0: at least"},
    {"train resnet20 --steps 0", "--steps must be above 0"},
    {"train resnet20 --lr 0", "--lr must be above 0"},
    {"train resnet20 --schedule linear", "learning-rate schedule 'linear'"},
    {"train resnet20 --checkpoint-every 5", "--checkpoint FILE"},
    {"train resnet20 --onnx /proc/self/exe", "either a built-in model"},
    {"train --onnx /no/model.onnx", "/no/model.onnx"},
    {"train --onnx /proc/self/exe", "not an ONNX model"},
    {"train resnet20 --export-onnx out.onnx", "needs --onnx FILE"},
    {"train resnet20 --loss hinge", "unknown loss 'hinge'"},
    {"train resnet20 --optimizer lamb", "unknown optimizer 'lamb'"},
    {"train resnet20 --optimizer adam --beta2 1", "--beta2 from 0"},
    {"train resnet20 --weight-decay -1", "sgd takes --weight-decay from 0"},
    {"train resnet20 --precision fp16-masters --loss-scale 3", "--loss-scale must be a power of two from 1 to"},
    {"train resnet20 --loss-scale 1024", "--precision fp16-masters"},
    {"train resnet20 --clip-norm -1", "--clip-norm must be from 0"},
    {"train dcgan --image-size 32 --delay-updates", "dcgan reads parameters again that it has updated"},
    {"train lstm --sequences 20,25 --delay-updates", "--delay-updates keeps gradients of one graph"},
    {"gradients resnet20 --delay-updates -o out", "leave out --delay-updates"},
    {"gradients resnet20 --accumulate 2 -o out", "leave out --delay-updates, --accumulate"},
    {"train resnet20 --accumulate 0", "--accumulate must be from 1 to 256, got 0"},
    {"train dcgan --image-size 32 --accumulate 2", "--accumulate: a step of dcgan reads parameters again"},
    {"plan resnet20 --estimate --batch 2 --slow pcie3 --processors device:1,host:1:pcie3 --on host:update --planner sentinel",
     "processor 'host', which cannot use tier dram in place"},
    {"plan resnet20 --estimate --batch 2 --threads 1 --planner zero-offload --fast 50%",
     "--processors device:1:dram,host:1:pcie3"},
    {"plan gpt2_small --batch 2 --sequence 32 --classes 200 --width 64 --depth 2 --optimizer adamw --precision bf16-masters --estimate --slow pcie3:400KiB --slow file --processors device:1,host:1:pcie3 --planner zero-offload",
     "of the optimizer's states in the host's memory at one time"},
    {"train resnet20 --precision fp8", "unknown precision 'fp8'"},
    {"train bert_base --dropout 1", "--dropout must be from 0 to below 1"},
    {"train bert_base --sequence 0", "--sequence must be above 0"},
    {"train resnet20 --sequences 20,25", "has no option 'sequence'"},
    {"train lstm --sequences 20,0", "'0' is no size above 0"},
    {"train lstm --sequences ,", "'' is no size above 0"},
    {"train lstm --sequences 20,25,20", "20 is in it twice"},
    {"train lstm --sequence 20 --sequences 20,25", "exclude each other"},
    {"train lstm --sequences 20,25 --trace t", "--trace is about one"},
    {"train bert_base --width 0", "--width must be above 0"},
    {"train bert_base --depth -1", "--depth must be above 0"},
    {"train bert_base --image-size 32", "image size"},
    {"train resnet20 --validate-every -1", "must not be negative"},
    {"train resnet20 --validate-every 1 --no-validation", "exclude each other"},
    {"gradients resnet20", "--output"},
    {"verify /no/plan.json resnet20", "/no/plan.json"},
    {"completion zsh", "no completion for 'zsh': there is one for bash"},
    {"man", "sluice COMMAND --help"},
    {"models --colour sometimes", "it is auto, always or never"},
    {"-q plan resnet20 -v", "--quiet and --verbose exclude each other"},
    {"plan resnet20 --planner dtr", "has no plan"},
    {"simulate resnet20 --batch 2 --threads 1 --slow optane --planner um:colour=red", "no setting 'colour'"},
    {"train resnet20 --batch 2 --threads 1 --slow pcie3 --steps 1 --planner ial --fast 50%", "cannot address"},
    {"characterize resnet20 --batch 2 --no-accesses --fast lots", "'lots' is not a size"},
    {"report resnet20 --planner um", "um is a policy"},
    {"report resnet20 --planners nobody", "unknown planner 'nobody'"},
    {"report resnet20 --curve much", "'much' is not a percentage"},
    {"report resnet20 --run --starts 0", "--starts 0: at least"},
    {"sweep", "models"},
    {"sweep resnet20 resnet21", "did you mean 'resnet20'"},
    {"sweep resnet20 resnet20", "'resnet20' twice"},
    {"sweep resnet20:many", "behind the colon stands the batch"},
    {"sweep resnet20:0", "behind the colon stands the batch"},
    {"sweep resnet20 --planners sentinel,magic", "unknown planner 'magic'"},
    {"sweep resnet20 --planners ''", "unknown planner ''"},
    {"sweep resnet20 --planners sentinel,sentinel", "--planners lists 'sentinel' twice"},
    {"sweep resnet20 --planners fast-only", "leave it out of --planners"},
    {"sweep resnet20 --fast 0%", "above 0%"},
    {"sweep resnet20 --fast ''", "'' is not a size"},
    {"sweep resnet20 --fast 20%,120%", "take at most 100%"},
    {"sweep resnet20 --fast 20%,40%,20%", "--fast lists '20%' twice"},
    {"sweep resnet20 --fast 20% --no-loss 1%", "leave out --fast"},
    {"sweep resnet20 --no-loss little", "--no-loss little: 'little' is not a percentage"},
    {"sweep resnet20 --no-loss=-1%", "is not a percentage"},
    {"sweep resnet20 --price fast=0,slow=1", "both above 0"},
    {"sweep resnet20 --price fast=2,slow=1 --no-loss 1%", "leave out one"},
    {"sweep resnet20 --svg-traffic t.svg", "--html FILE writes a page"},
    {"characterize resnet20 --svg pictures", "--html FILE writes a page"},
    {"sweep resnet20 --within 5%", "--price"},
    {"sweep resnet20 --price fast=2,slow=1 --within little", "--within little"},
    {"sweep resnet20 --run --steps 2", "leaves nothing to time"},
};

Words words_of(const std::string& line) {
  Words words;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) words.push_back(word == "''" ? "" : word);
  return words;
}

TEST(BadInputTest, IsRefusedWithAClearMessage) {
  for (const BadInput& bad : kAll) {
    SCOPED_TRACE(bad.line);
    const CommandResult result = call_sluice(words_of(bad.line));
    EXPECT_EQ(result.exit_code, 2) << result.errors;
    EXPECT_THAT(result.errors, AllOf(StartsWith("sluice: "), HasSubstr(bad.message)));
    EXPECT_EQ(result.output, "");
  }
}

}  // namespace
}  // namespace sluice::tests
