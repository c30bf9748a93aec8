#include "sluice/report/step/tier_contents.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/presets.hpp"
#include "sluice/models/model.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/registry/make_plan.hpp"

namespace sluice::report {
namespace {

using ::testing::HasSubstr;

struct ContentsProblem {
  graph::Graph graph = models::build_training_model("resnet20", {.batch = 4, .image_size = 8}).value();
  memory::Machine machine = memory::make_machine({.threads = 1, .slow = {{"pcie3", kGiB}}}).value();
  profile::Profile profile;

  ContentsProblem() {
    for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
      graph::Tensor& tensor = graph.tensor(id);
      tensor.bytes = graph::element_count(tensor.shape) * size_of(tensor.dtype);
    }
    profile.op_seconds.assign(graph.ops().size(), 1e-4);
  }
  plan::Plan plan(std::string_view planner, Bytes fast) const {
    return planners::make_plan(planner,
                               {.graph = graph, .profile = profile, .machine = machine, .budgets = {fast, kGiB}})
        .value();
  }
};

Bytes bytes_of(const TierContents& contents, graph::Role role) {
  for (const auto& [each, bytes] : contents.by_role) {
    if (each == role) return bytes;
  }
  return 0;
}

TEST(TierContents, AreTheParametersAndWhatTheFullestMomentNeeds) {
  const ContentsProblem problem;
  const plan::Plan plan = problem.plan("fast-only", kGiB);
  const auto contents = tier_contents(problem.graph, plan);
  ASSERT_EQ(contents.size(), 1U) << "nothing is elsewhere";
  Bytes parameters = 0, sum = 0;
  for (const graph::Tensor& tensor : problem.graph.tensors()) {
    if (tensor.role == graph::Role::kParameter) parameters += tensor.bytes;
  }
  EXPECT_GE(bytes_of(contents[0], graph::Role::kParameter), parameters);
  EXPECT_LE(bytes_of(contents[0], graph::Role::kParameter), parameters + parameters / 10) << "but for alignment";
  EXPECT_GT(bytes_of(contents[0], graph::Role::kActivation), 0);
  for (const auto& [role, bytes] : contents[0].by_role) sum += bytes;
  EXPECT_EQ(sum, contents[0].bytes);
  EXPECT_LE(contents[0].bytes, plan.arena_bytes[0]);
  EXPECT_THAT(describe_contents(contents[0]), HasSubstr(contents[0].op));
}

TEST(TierContents, SayWhatHasLeft) {
  const ContentsProblem problem;
  const plan::Plan plan = problem.plan("on-demand", kMiB);
  const auto contents = tier_contents(problem.graph, plan);
  ASSERT_EQ(contents.size(), 2U);
  for (const TierContents& each : contents) EXPECT_LE(each.bytes, plan.arena_bytes[as_index(each.tier)]);
  const nlohmann::json document = contents_json(problem.machine, contents);
  EXPECT_EQ(document[1]["tier"], "pcie3");
  EXPECT_EQ(document[1]["bytes"], contents[1].bytes);
}

}  // namespace
}  // namespace sluice::report
