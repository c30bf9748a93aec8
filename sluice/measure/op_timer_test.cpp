#include "sluice/measure/op_timer.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace sluice::measure {
namespace {

constexpr Bytes kTensorBytes = 256 * kKiB;

// Two ops of two inputs and one output each; the second reads what the first wrote.
graph::Graph two_ops() {
  graph::Graph graph;
  graph::Tensor tensor;
  tensor.shape = {kTensorBytes / 4};
  for (int i = 0; i < 4; ++i) graph.add_tensor(tensor);
  for (graph::TensorId i = 0; i < 2; ++i) {
    graph::Op op;
    op.name = "op" + std::to_string(i);
    op.kind = graph::OpKind::kAdd;
    op.inputs = {i, i + 1};
    op.outputs = {i + 2};
    graph.add_op(op);
  }
  return graph;
}

// One value of every cache line. Each read waits for the one before and no prefetcher knows its line, so that it is
// memory that takes the time, in instrumented builds too.
std::uint64_t sum_far_apart(const std::uint32_t* values) {
  constexpr std::uint64_t kValues = kTensorBytes / 4, kValuesPerLine = 16, kStride = 1237 * kValuesPerLine;
  std::uint64_t sum = 0, at = 0;
  for (std::uint64_t line = 0; line < kValues / kValuesPerLine; ++line) {
    sum += values[at];
    at = (at + kStride + sum / kValues * kValuesPerLine) % kValues;
  }
  return sum;
}

// Reads every input and remembers where the operands were.
class ReadingGraph : public kernels::CompiledGraph {
 public:
  const graph::Graph& graph() const override { return graph_; }
  Status run(graph::OpIndex op, std::span<void* const> operands, const kernels::StepContext&) override {
    if (op == failing_op) return Error{ErrorCode::kIo, "no"};
    ops.push_back(op);
    last_operands.assign(operands.begin(), operands.end());
    for (std::size_t i = 0; i < graph_.op(op).inputs.size(); ++i) {
      const auto* values = static_cast<const std::uint32_t*>(operands[i]);
      sum += sum_far_apart(values);
    }
    return {};
  }
  void to_plain(graph::TensorId, const void*, std::span<float>) override {}
  void from_plain(graph::TensorId, std::span<const float>, void*) override {}

  std::uint64_t sum = 0;
  graph::OpIndex failing_op = -1;
  std::vector<graph::OpIndex> ops;
  std::vector<void*> last_operands;

 private:
  graph::Graph graph_ = two_ops();
};

TEST(OpTimer, AnOpTimedColdWaitsForMemory) {
  ReadingGraph compiled;
  const auto timer = OpTimer::make(compiled, 1);
  ASSERT_TRUE(timer.ok());
  Seconds warm = 1;
  Seconds cold = 1;
  for (int i = 0; i < 50; ++i) {
    cold = std::min(cold, (*timer)->run_cold(0).value());
    warm = std::min(warm, (*timer)->run(0).value());
  }
  EXPECT_GT(cold, 1.1 * warm);
}

TEST(OpTimer, OnlyTheChosenOperandsMoveToTheSlowRing) {
  ReadingGraph compiled;
  const auto timer = OpTimer::make(compiled, 1, 2);
  ASSERT_TRUE(timer.ok());
  ASSERT_TRUE((*timer)->run(1).ok());
  const std::vector<void*> all_fast = compiled.last_operands;
  (*timer)->put_in_slow({2});
  ASSERT_TRUE((*timer)->run(1).ok());
  EXPECT_EQ(compiled.last_operands[0], all_fast[0]);
  EXPECT_NE(compiled.last_operands[1], all_fast[1]);
  EXPECT_EQ(compiled.last_operands[2], all_fast[2]);
  const void* in_slow = compiled.last_operands[1];
  ASSERT_TRUE((*timer)->run(0).ok());
  EXPECT_EQ(compiled.last_operands[2], in_slow) << "its producer writes it there";
  (*timer)->put_in_slow({});
  ASSERT_TRUE((*timer)->run(1).ok());
  EXPECT_EQ(compiled.last_operands, all_fast);
}

TEST(OpTimer, RingsLieWhereTheTiersDo) {
  ReadingGraph compiled;
  const auto timer = OpTimer::make(compiled, 1, 2);
  ASSERT_TRUE(timer.ok());
  const memory::Tier dram{.name = "dram"};
  EXPECT_TRUE((*timer)->lie_in(dram, {.name = "optane", .kind = memory::TierKind::kEmulated}).ok());
  const Status missing = (*timer)->lie_in(dram, {.name = "numa:900", .kind = memory::TierKind::kNuma, .node = 900});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("numa:900"), std::string::npos);
}

TEST(OpTimer, RunsTheOpsBefore) {
  ReadingGraph compiled;
  const auto timer = OpTimer::make(compiled, 1);
  ASSERT_TRUE(timer.ok());
  const Result<Seconds> seconds = (*timer)->run_behind_others(1);
  ASSERT_TRUE(seconds.ok());
  EXPECT_EQ(compiled.ops, (std::vector<graph::OpIndex>{0, 1}));
  EXPECT_GT(*seconds, 0);
}

TEST(OpTimer, NamesTheOpThatFails) {
  ReadingGraph compiled;
  compiled.failing_op = 1;
  const auto timer = OpTimer::make(compiled, 1);
  for (const Result<Seconds>& seconds : {(*timer)->run(1), (*timer)->run_cold(1)}) {
    ASSERT_FALSE(seconds.ok());
    EXPECT_NE(seconds.error().message.find("op1"), std::string::npos);
  }
}

}  // namespace
}  // namespace sluice::measure
