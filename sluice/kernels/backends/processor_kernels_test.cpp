// Kernels of several backends in one graph.
#include "sluice/kernels/backends/processor_kernels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/choose.hpp"
#include "sluice/kernels/backends/backends.hpp"
#include "sluice/models/model.hpp"

namespace sluice::kernels {
namespace {

using ::testing::HasSubstr;

graph::Graph small_step() { return models::build_training_model("resnet20", {.batch = 2}).value(); }

TEST(ProcessorKernels, OneBackendMakesTheGraphThatItMakesAlone) {
  const auto alone = make_onednn_backend()->compile(small_step(), {1, 1}).value();
  const auto together = compile_for(small_step(), {{.threads = 1}, {.threads = 1}}).value();
  EXPECT_EQ(together->graph().fingerprint(), alone->graph().fingerprint());
}

TEST(ProcessorKernels, AnotherBackendSaysWhatItCannotRun) {
  const auto compiled = compile_for(small_step(), {{}, {}, {1, "reference"}}).value();
  int updates = 0;
  for (const graph::Op& op : compiled->graph().ops()) {
    const bool lacks = !op.no_kernel_on.empty();
    EXPECT_TRUE(!lacks || op.no_kernel_on == std::vector<ProcessorId>{2}) << op.name;
    EXPECT_TRUE(lacks || op.kind != graph::OpKind::kReorder) << "layouts are the main backend's own";
    if (op.phase != graph::Phase::kUpdate) continue;
    EXPECT_FALSE(lacks) << op.name << ": element by element, in any layout";
    ++updates;
  }
  EXPECT_GT(updates, 20);
}

TEST(ProcessorKernels, AnOpRunsByTheKernelOfItsProcessor) {
  const auto compiled = compile_for(small_step(), {{}, {1, "reference"}}).value();
  const graph::Graph& graph = compiled->graph();
  const auto update = std::ranges::find(graph.ops(), graph::OpKind::kSgdUpdate, &graph::Op::kind);
  const auto index = as_id<graph::OpIndex>(update - graph.ops().begin());
  const auto elements = as_index(graph::element_count(graph.tensor(update->inputs[0]).shape));
  const auto run_on = [&](ProcessorId processor) {
    std::vector<graph::OpChoice> choices(graph.ops().size());
    choices[as_index(index)].processor = processor;
    const auto chosen = compiled->rescheduled(graph::chosen_step(graph, choices));
    std::vector<std::vector<float>> storage;
    for (std::size_t i = 0; i < 3; ++i) storage.emplace_back(elements, 0.3F + static_cast<float>(i));
    std::vector<void*> operands;
    for (std::size_t i = 0; i < 3; ++i) operands.push_back(storage[i].data());
    operands.insert(operands.end(), {storage[0].data(), storage[2].data()});
    EXPECT_TRUE(chosen->run(index, operands, {.learning_rate = 0.1F}).ok());
    return storage[0];
  };
  const std::vector<float> main = run_on(0);
  const std::vector<float> other = run_on(1);
  EXPECT_THAT(other, ::testing::Pointwise(::testing::FloatNear(1e-5F), main));
  EXPECT_NE(main[0], 0.3F);
}

TEST(ProcessorKernels, UnknownBackendsAreNamed) {
  const auto made = compile_for(small_step(), {{}, {1, "abacus"}});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(made.error().message, HasSubstr("there is no backend 'abacus'; there are onednn, reference and cuda"));
}

}  // namespace
}  // namespace sluice::kernels
