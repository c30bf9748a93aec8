// What a network is lowered to: the reorders that are needed and no others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/kernels/backends/backends.hpp"
#include "sluice/kernels/onednn/interface/describe.hpp"
#include "sluice/models/model.hpp"
#include "sluice/testing/training_run.hpp"

namespace sluice::kernels {
namespace {

// What makes a step fast: blocked kernels throughout, and no copies but those of weights for backward data.
TEST(OnednnLowering, Resnet50ReordersOnlyWeights) {
  for (const std::int64_t batch : {2, 16}) {
    SCOPED_TRACE(batch);
    const auto graph = models::build_training_model("resnet50", {.batch = batch});
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    const auto resnet = testing::compiled(make_onednn_backend(), *graph);
    const graph::Graph& executable = resnet->graph();
    for (const graph::Op& op : executable.ops()) {
      if (op.name.find('[') != std::string::npos) continue;  // a slice of the dense layer, which few images cut
      EXPECT_THAT(op.implementations.at(0).name, ::testing::Not(::testing::HasSubstr("ref"))) << op.name;
      EXPECT_THAT(op.implementations.at(0).name, ::testing::Not(::testing::HasSubstr("gemm:"))) << op.name;
      // Version 3 has faster kernels in another layout for the gradients of strided convolutions.
      if (op.kind == graph::OpKind::kReorder && !kIsOneDnn3) {
        EXPECT_EQ(executable.tensor(op.inputs[0]).role, graph::Role::kParameter) << op.name;
        EXPECT_EQ(executable.tensor(op.outputs[0]).role, graph::Role::kWorkspace) << op.name;
      }
    }
  }
}

TEST(OnednnLowering, AskingForNoThreadsIsAnError) {
  const auto graph = models::build_training_model("resnet20", {.batch = 1});
  ASSERT_TRUE(graph.ok());
  const auto compiled = make_onednn_backend()->compile(*graph, 0);
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace sluice::kernels
