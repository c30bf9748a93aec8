// Every implementation that an op offers, on every processor, computes what the first one computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/choose.hpp"
#include "sluice/kernels/backends/backends.hpp"
#include "sluice/kernels/onednn/interface/describe.hpp"
#include "sluice/models/model.hpp"
#include "sluice/testing/op_cases/graph_runner.hpp"
#include "sluice/testing/training_run.hpp"
#include "sluice/testing/wave_input.hpp"

namespace sluice::kernels {
namespace {

constexpr double kRounding = 1e-4;  // of the largest value: Winograd rounds more

std::vector<graph::OpChoice> every_op(const graph::Graph& graph, std::int32_t implementation, ProcessorId processor) {
  std::vector<graph::OpChoice> choices;
  for (const graph::Op& op : graph.ops()) {
    const bool has = as_index(implementation) < op.implementations.size();
    choices.push_back({has ? implementation : 0, processor});
  }
  return choices;
}

graph::Graph convolutions() { return models::build_training_model("resnet20", {.batch = 8, .width = 32}).value(); }

TEST(Implementations, OfConvolutionsDifferInNameOrWorkspaceAndTakeEachOthersPlace) {
  const auto compiled = make_onednn_backend()->compile(convolutions(), 2).value();
  int several = 0;
  for (const graph::Op& op : compiled->graph().ops()) {
    ASSERT_FALSE(op.implementations.empty());
    if (op.implementations.size() < 2) continue;
    ++several;
    const graph::Tensor& workspace = compiled->graph().tensor(op.outputs.back());
    EXPECT_EQ(workspace.role, graph::Role::kWorkspace);
    EXPECT_EQ(workspace.bytes, std::max(op.implementations.front().workspace_bytes, graph::kLeastWorkspace));
    for (std::size_t i = 0; i < op.implementations.size(); ++i) {
      EXPECT_THAT(op.implementations[i].name, ::testing::Not(::testing::HasSubstr("ref")));
      for (std::size_t other = 0; other < i; ++other) {
        EXPECT_TRUE(op.implementations[i].name != op.implementations[other].name ||
                    op.implementations[i].workspace_bytes != op.implementations[other].workspace_bytes);
      }
    }
  }
  EXPECT_GT(several, kIsOneDnn3 ? 1 : 4);  // version 3 has no Winograd convolutions
}

// The largest difference of what op `op` writes in two runs, as a share of the largest value.
double difference(const testing::GraphRunner& a, const testing::GraphRunner& b, const graph::Op& op) {
  double largest = 0, difference = 0;
  for (const graph::TensorId id : op.outputs) {
    if (a.graph().tensor(id).role == graph::Role::kWorkspace) continue;
    const auto* const ours = reinterpret_cast<const float*>(a.data(id));
    const auto* const theirs = reinterpret_cast<const float*>(b.data(id));
    for (Bytes i = 0; i < a.graph().tensor(id).bytes / 4; ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(ours[i])));
      difference = std::max(difference, std::abs(static_cast<double>(ours[i]) - theirs[i]));
    }
  }
  return largest == 0 ? difference : difference / largest;
}

// Every op with several implementations on the operands that a step gives it, by the first one and as `step` says.
void expect_same_values(CompiledGraph& compiled, const graph::Rescheduled& step) {
  const auto chosen = compiled.rescheduled(step);
  testing::GraphRunner first(compiled);
  testing::GraphRunner other(*chosen);
  testing::WaveInput input(compiled.graph());
  const StepContext context{.learning_rate = 0.01F, .input = &input};
  first.initialise(1);
  int compared = 0;
  for (graph::OpIndex index = 0; index < compiled.graph().op_count(); ++index) {
    const graph::Op& op = compiled.graph().op(index);
    const bool differs = op.implementations.size() > 1;
    for (const graph::TensorId id : op.inputs) {
      if (differs) std::memcpy(other.data(id), first.data(id), first.bytes(id).size());
    }
    first.run_op(index, context);
    if (!differs) continue;
    other.run_op(index, context);
    EXPECT_LE(difference(first, other, op), kRounding)
        << op.name << " by " << step.graph.op(index).implementations[0].name;
    ++compared;
  }
  EXPECT_GT(compared, kIsOneDnn3 ? 1 : 4);  // version 3 has no Winograd convolutions
}

// The direct gradient of the data wants its weights in another layout than Winograd's.
TEST(Implementations, MayReorderTheirWeightsInside) {
  const graph::Graph logical = models::build_training_model("vgg11", {.batch = 4, .image_size = 96}).value();
  const auto compiled = make_onednn_backend()->compile(logical, 2).value();
  for (const graph::Op& op : compiled->graph().ops()) {
    const std::vector<graph::Implementation>& known = op.implementations;
    if (op.kind != graph::OpKind::kConv2dBackwardData || !known[0].name.starts_with("jit_wino")) continue;
    EXPECT_TRUE(known.back().name.ends_with("with weights reordered")) << op.name << " has " << known.back().name;
    EXPECT_LT(known.back().workspace_bytes, known[0].workspace_bytes);
    EXPECT_GE(known.back().workspace_bytes, compiled->graph().tensor(op.inputs[1]).bytes);
  }
  for (std::int32_t implementation = 1; implementation < 3; ++implementation) {
    SCOPED_TRACE(implementation);
    expect_same_values(*compiled,
                       graph::chosen_step(compiled->graph(), every_op(compiled->graph(), implementation, 0)));
  }
}

TEST(Implementations, ComputeWhatTheFirstOneComputes) {
  const auto compiled = make_onednn_backend()->compile(convolutions(), 2).value();
  std::size_t most = 0;
  for (const graph::Op& op : compiled->graph().ops()) most = std::max(most, op.implementations.size());
  ASSERT_GT(most, 1u);
  for (std::int32_t implementation = 1; implementation < static_cast<std::int32_t>(most); ++implementation) {
    SCOPED_TRACE(implementation);
    expect_same_values(*compiled,
                       graph::chosen_step(compiled->graph(), every_op(compiled->graph(), implementation, 0)));
  }
}

TEST(Implementations, RunOnOtherProcessorsWithTheirThreads) {
  for (const int threads : {1, 2, 3}) {
    SCOPED_TRACE(threads);
    const auto compiled = make_onednn_backend()->compile(convolutions(), std::vector{2, threads}).value();
    expect_same_values(*compiled, graph::chosen_step(compiled->graph(), every_op(compiled->graph(), 1, 1)));
    const auto there = compiled->rescheduled(graph::chosen_step(compiled->graph(), every_op(compiled->graph(), 0, 1)));
    const auto alone = make_onednn_backend()->compile(convolutions(), threads).value();
    EXPECT_EQ(testing::farthest(testing::trained(*there), testing::trained(*alone), 0), "")
        << "the bits of a machine with its threads alone";
    EXPECT_EQ(testing::farthest(testing::trained(*there), testing::trained(*compiled), 0).empty(), threads == 2)
        << "and of no other";
  }
}

}  // namespace
}  // namespace sluice::kernels
