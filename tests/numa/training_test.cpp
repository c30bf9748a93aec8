// Training across memory nodes: the same bits as in ordinary memory, with every page where its tier says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>

#include "sluice/measure/scratch_ring.hpp"
#include "sluice/memory/page_mover.hpp"
#include "tests/e2e/trained_run.hpp"
#include "tests/numa/machine_nodes.hpp"

namespace sluice::tests {
namespace {

constexpr std::int64_t kSteps = 2;
constexpr float kLearningRate = 0.05F;  // train()'s

// Pages of this process's ranges that are bound to `node`, by the node that they lie on: /proc/self/numa_maps.
std::map<int, std::int64_t> pages_bound_to(int node) {
  std::map<int, std::int64_t> pages;
  std::ifstream file("/proc/self/numa_maps");
  const std::string bound = " bind:" + std::to_string(node) + " ";
  const std::regex place("N([0-9]+)=([0-9]+)");
  for (std::string line; std::getline(file, line);) {
    if (line.find(bound) == std::string::npos) continue;
    for (std::sregex_iterator match(line.begin(), line.end(), place), end; match != end; ++match) {
      pages[std::stoi((*match)[1])] += std::stoll((*match)[2]);
    }
  }
  return pages;
}

// As few and small ops as show everything: emulation makes each of them hundreds of times slower.
train::Workload tiny_workload(std::int64_t batch = 4) {
  train::WorkloadOptions options;
  options.model = "resnet20";
  options.shape = {.batch = batch, .image_size = 16, .width = 8, .depth = 1};
  return test_workload(options);
}

class NumaTraining : public ::testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() {
    train::Workload workload = tiny_workload();
    const memory::Machine host = memory::make_machine({.slow = {}}).value();
    expected = train(workload, host, *test_plan(workload, host, "fast-only", "100%"), kSteps);
  }

  MachineNodes nodes_ = machine_nodes();
  train::Workload workload_ = tiny_workload();
  static inline TrainedRun expected;
};

void expect_pages_on_nodes(const memory::Machine& machine, const plan::Plan& plan) {
  for (const memory::TierId tier : {0, 1}) {
    const int node = machine.tier(tier).node;
    const auto pages = pages_bound_to(node);
    ASSERT_EQ(pages.size(), 1U) << "pages bound to node " << node << " lie on several";
    EXPECT_EQ(pages.begin()->first, node);
    EXPECT_GE(pages.begin()->second * memory::kBlockAlignment, plan.arena_bytes.at(static_cast<std::size_t>(tier)));
  }
}

TEST_P(NumaTraining, GivesTheSameBitsWithEveryPageOnItsNode) {
  const memory::Machine machine = memory::make_machine({.slow = {{numa_tier(nodes_.slow)}}}).value();
  const Result<plan::Plan> plan = test_plan(workload_, machine, GetParam(), "60%");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_GT(plan->arena_bytes.at(1), 0);
  const auto session = train::Session::create(workload_, machine, *plan, {});
  ASSERT_TRUE(session.ok()) << session.error().message;
  std::vector<float> losses;
  Bytes moved = 0;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const auto outcome = (*session)->run_step(step, kLearningRate);
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    losses.push_back(outcome->loss);
    for (const Bytes bytes : outcome->trace.link_bytes) moved += bytes;
  }
  EXPECT_EQ(losses, expected.losses);
  EXPECT_EQ((*session)->hash_parameters().value(), expected.parameter_hash);
  EXPECT_EQ(moved > 0, std::string(GetParam()) != "first-touch");
  expect_pages_on_nodes(machine, *plan);
}

INSTANTIATE_TEST_SUITE_P(Planners, NumaTraining, ::testing::Values("first-touch", "sentinel", "on-demand"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// By the node that they lie on: all of this process's pages.
std::map<int, std::int64_t> pages_by_node() {
  std::map<int, std::int64_t> pages;
  std::ifstream file("/proc/self/numa_maps");
  const std::regex place("N([0-9]+)=([0-9]+)");
  for (std::string line; std::getline(file, line);) {
    for (std::sregex_iterator match(line.begin(), line.end(), place), end; match != end; ++match) {
      pages[std::stoi((*match)[1])] += std::stoll((*match)[2]);
    }
  }
  return pages;
}

// Policies over pages, with no emulation: pages of the step lie on the slow node where the policy has put them.
class NumaPolicies : public NumaTraining {};

TEST_P(NumaPolicies, GiveTheSameBitsOnPagesThatReallyMove) {
  const memory::Machine machine = memory::make_machine({.slow = {{numa_tier(nodes_.slow)}}}).value();
  const Result<policies::Run> run = test_run(workload_, machine, GetParam(), "40%");
  ASSERT_TRUE(run.ok()) << run.error().message;
  const std::int64_t before = pages_by_node()[nodes_.slow.id];
  const auto session = train::Session::create(workload_, machine, *run, {});
  ASSERT_TRUE(session.ok()) << session.error().message;
  std::vector<float> losses;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const auto outcome = (*session)->run_step(step, kLearningRate);
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    losses.push_back(outcome->loss);
  }
  EXPECT_EQ(losses, expected.losses);
  EXPECT_EQ((*session)->hash_parameters().value(), expected.parameter_hash);
  const Bytes all = std::get<policies::PagesRun>(*run).plan.arena_bytes.at(memory::kFastTier);
  EXPECT_GT((pages_by_node()[nodes_.slow.id] - before) * memory::kBlockAlignment, all / 4);
}

INSTANTIATE_TEST_SUITE_P(OverPages, NumaPolicies,
                         ::testing::Values("numa-first-touch", "ial:period=0.1", "tpp:period=0.1"),
                         [](const auto& instance) {
                           const std::string name = instance.param;
                           return std::regex_replace(name.substr(0, name.find(':')), std::regex("-"), "_");
                         });

TEST(NumaProfiling, OperandsInSlowMemoryAreMeasuredOnItsNode) {
  const MachineNodes nodes = machine_nodes();
  const train::Workload workload = tiny_workload();
  const graph::Graph& graph = workload.graph();
  auto ring = measure::ScratchRing::make(graph, 1, 8 * kMiB);
  ASSERT_TRUE(ring.ok()) << ring.error().message;
  for (const memory::NumaNode* node : {&nodes.slow, &nodes.fast}) {
    const memory::Tier tier{.name = numa_tier(*node), .kind = memory::TierKind::kNuma, .node = node->id};
    ASSERT_TRUE(ring->lie_in(tier).ok());
    EXPECT_THAT(memory::nodes_of_pages(ring->place(graph.op(0))).value(), ::testing::Each(node->id));
  }
}

TEST(NumaTrainingOnAFullNode, SaysWhatIsMissing) {
  const MachineNodes nodes = machine_nodes();
  train::Workload workload = tiny_workload(2048);
  memory::Machine machine = memory::make_machine({.slow = {{numa_tier(nodes.small)}}}).value();
  machine.tiers[1].capacity = kGiB;  // as if it had been free when the plan was made
  const Result<plan::Plan> plan = test_plan(workload, machine, "slow-only", "50%");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_GT(plan->arena_bytes.at(1), nodes.small.memory);
  const auto session = train::Session::create(workload, machine, *plan, {});
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().code, ErrorCode::kOutOfSpace);
  EXPECT_THAT(session.error().message, ::testing::HasSubstr("memory node " + std::to_string(nodes.small.id)));
}

}  // namespace
}  // namespace sluice::tests
