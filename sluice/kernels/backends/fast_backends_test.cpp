// Every op case on every fast backend: the reference's values; the same bits at any address, over any garbage and in
// place. Those of a GPU are skipped where there is none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/kernels/backends/backends.hpp"
#include "sluice/testing/on_gpu.hpp"
#include "sluice/testing/op_cases/op_cases.hpp"
#include "sluice/testing/training_run.hpp"

namespace sluice::kernels {
namespace {

constexpr std::uint64_t kOpSeed = 20240611;

float largest(const std::vector<float>& values) {
  float result = 0;
  for (const float value : values) result = std::max(result, std::abs(value));
  return result;
}

void expect_close_to_reference(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  const float tolerance = 1e-4F * std::max(largest(expected), 1e-3F);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_FALSE(std::isnan(actual[i])) << "element " << i;
    ASSERT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
  }
}

struct BackendCase {
  std::string backend;
  testing::OpCase op_case;
};

std::ostream& operator<<(std::ostream& out, const BackendCase& tested) { return out << tested.op_case; }

class FastBackends : public ::testing::TestWithParam<BackendCase> {
 protected:
  void SetUp() override {
    if (GetParam().backend == "cuda") SLUICE_SKIP_WITHOUT_GPU();
  }

  std::unique_ptr<Backend> backend() const { return make_backend(GetParam().backend).value(); }
  const graph::Graph& logical() const { return GetParam().op_case.graph; }
};

TEST_P(FastBackends, MatchesReference) {
  SCOPED_TRACE(::testing::Message() << "seed " << kOpSeed);
  const auto fast = testing::compiled(backend(), logical());
  const auto slow = testing::compiled(make_reference_backend(), logical());
  testing::GraphRunner fast_runner(*fast);
  testing::GraphRunner slow_runner(*slow);
  const testing::NamedValues leaves = testing::leaf_values(logical(), kOpSeed);
  const StepContext context{.step = 3, .learning_rate = 0.1F};
  const testing::NamedValues actual = testing::run_case(logical(), fast_runner, leaves, context);
  const testing::NamedValues expected = testing::run_case(logical(), slow_runner, leaves, context);
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [name, values] : expected) {
    SCOPED_TRACE(name);
    expect_close_to_reference(actual.at(name), values);
  }
}

// The whole memory is first filled with `garbage`, so that what an op forgets to write shows.
std::vector<std::byte> bits_after_run(CompiledGraph& graph, const testing::NamedValues& leaves, Bytes shift,
                                      int garbage) {
  testing::GraphRunner runner(graph, shift);
  const auto tensor_count = graph.graph().tensor_count();
  for (graph::TensorId id = 0; id < tensor_count; ++id) std::memset(runner.data(id), garbage, runner.bytes(id).size());
  testing::set_leaves(runner, leaves);
  runner.run_step({.step = 3, .learning_rate = 0.1F});
  std::vector<std::byte> bits;
  for (graph::TensorId id = 0; id < tensor_count; ++id) {
    if (graph.graph().tensor(id).role == graph::Role::kWorkspace) continue;
    bits.insert(bits.end(), runner.bytes(id).begin(), runner.bytes(id).end());
  }
  return bits;
}

TEST_P(FastBackends, GivesTheSameBitsAtAnyAddressAndOverAnyGarbage) {
  SCOPED_TRACE(::testing::Message() << "seed " << kOpSeed);
  const testing::NamedValues leaves = testing::leaf_values(logical(), kOpSeed);
  for (const int threads : {1, 2}) {
    SCOPED_TRACE(threads);
    const auto graph = testing::compiled(backend(), logical(), threads);
    const auto bits = bits_after_run(*graph, leaves, 0, 0);
    EXPECT_TRUE(bits == bits_after_run(*graph, leaves, 0, 0)) << "two equal runs differ";
    EXPECT_TRUE(bits == bits_after_run(*graph, leaves, 37 * 4 * kKiB, 0xFF)) << "another address differs";
    const auto again = testing::compiled(backend(), logical(), threads);
    EXPECT_TRUE(bits == bits_after_run(*again, leaves, 4 * kKiB, 0x7F)) << "compiled again, it differs";
  }
}

struct AlignedDelete {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using AlignedBuffer = std::unique_ptr<std::byte, AlignedDelete>;

AlignedBuffer copy_of(std::span<const std::byte> bytes) {
  const auto size = static_cast<std::size_t>(align_up(std::ssize(bytes), 4 * kKiB));
  AlignedBuffer copy(static_cast<std::byte*>(std::aligned_alloc(as_index(4 * kKiB), size)));
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return copy;
}

bool same_size(testing::GraphRunner& runner, graph::OpIndex op, const graph::InPlace& pair) {
  const graph::Op& node = runner.graph().op(op);
  return runner.bytes(node.inputs[as_index(pair.input)]).size() ==
         runner.bytes(node.outputs[as_index(pair.output)]).size();
}

// With the processor that the kernels run on.
std::shared_ptr<void> share(const testing::GraphRunner& runner, const AlignedBuffer& buffer, std::size_t size) {
  return runner.compiled().share({buffer.get(), size}).value();
}

// Bits of output `pair.output` of `op`, written over a copy of its input or to a place of its own.
std::vector<std::byte> output_bits(testing::GraphRunner& runner, graph::OpIndex op, const graph::InPlace& pair,
                                   bool in_place) {
  const graph::Op& node = runner.graph().op(op);
  const auto source = as_index(pair.input);
  const auto input_bytes = runner.bytes(node.inputs[source]);
  const auto output_size = runner.bytes(node.outputs[as_index(pair.output)]).size();
  EXPECT_EQ(input_bytes.size(), output_size);
  const AlignedBuffer input = copy_of(input_bytes);
  const AlignedBuffer apart = copy_of(input_bytes);
  const auto shared_input = share(runner, input, input_bytes.size());
  const auto shared_apart = share(runner, apart, input_bytes.size());
  auto operands = runner.operands(op);
  std::byte* const target = in_place ? input.get() : apart.get();
  operands[source] = input.get();
  operands[node.inputs.size() + as_index(pair.output)] = target;
  EXPECT_TRUE(runner.compiled().run(op, operands, {.learning_rate = 0.1F}).ok());
  return {target, target + output_size};
}

TEST_P(FastBackends, GivesTheSameBitsInPlace) {
  SCOPED_TRACE(::testing::Message() << "seed " << kOpSeed);
  const auto graph = testing::compiled(backend(), logical());
  testing::GraphRunner runner(*graph);
  testing::set_leaves(runner, testing::leaf_values(logical(), kOpSeed));
  for (graph::OpIndex op = 0; op < graph->graph().op_count(); ++op) {
    SCOPED_TRACE(graph->graph().op(op).name);
    for (const graph::InPlace& pair : graph->graph().op(op).in_place) {
      if (!same_size(runner, op, pair)) continue;  // broadcasting: never merged
      EXPECT_TRUE(output_bits(runner, op, pair, true) == output_bits(runner, op, pair, false));
    }
    runner.run_op(op, {.learning_rate = 0.1F});
  }
}

std::vector<std::byte> outputs_of(testing::GraphRunner& runner, graph::OpIndex op) {
  std::vector<std::byte> bits;
  for (const graph::TensorId id : runner.graph().op(op).outputs) {
    if (runner.graph().tensor(id).role == graph::Role::kWorkspace) continue;
    bits.insert(bits.end(), runner.bytes(id).begin(), runner.bytes(id).end());
  }
  return bits;
}

TEST_P(FastBackends, GivesTheSameBitsAgainWhereRepeatable) {
  SCOPED_TRACE(::testing::Message() << "seed " << kOpSeed);
  const auto graph = testing::compiled(backend(), logical());
  testing::GraphRunner runner(*graph);
  testing::set_leaves(runner, testing::leaf_values(logical(), kOpSeed));
  for (graph::OpIndex op = 0; op < graph->graph().op_count(); ++op) {
    runner.run_op(op, {.learning_rate = 0.1F});
    if (!graph::repeatable(graph->graph().op(op))) continue;
    const std::vector<std::byte> once = outputs_of(runner, op);
    runner.run_op(op, {.learning_rate = 0.1F});
    EXPECT_TRUE(outputs_of(runner, op) == once) << graph->graph().op(op).name;
  }
}

TEST_P(FastBackends, PlainFormRoundTrips) {
  const auto graph = testing::compiled(backend(), logical());
  testing::GraphRunner runner(*graph);
  for (const auto& [name, values] : testing::leaf_values(logical(), kOpSeed)) {
    const graph::TensorId id = runner.find(name);
    if (graph->graph().tensor(id).dtype != graph::DType::kF32) continue;
    runner.set_plain(id, values);
    EXPECT_EQ(runner.plain(id), values) << name;
  }
}

TEST(GpuRefuses, EveryCaseThatItHasNoKernelFor) {
  SLUICE_SKIP_WITHOUT_GPU();
  const std::vector<testing::OpCase> cases = testing::op_cases_not_of_gpu();
  ASSERT_FALSE(cases.empty());
  for (const testing::OpCase& each : cases) {
    const auto refused = make_cuda_backend()->compile(each.graph, 1);
    ASSERT_FALSE(refused.ok()) << each.name;
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported) << each.name;
    EXPECT_NE(refused.error().message.find("on processors only"), std::string::npos) << refused.error().message;
  }
}

std::vector<BackendCase> cases_of(const std::string& backend) {
  std::vector<BackendCase> cases;
  for (testing::OpCase& each : backend == "cuda" ? testing::op_cases_of_gpu() : testing::op_cases())
    cases.push_back({backend, std::move(each)});
  return cases;
}

std::string name_of(const ::testing::TestParamInfo<BackendCase>& tested) {
  return testing::test_name(tested.param.op_case);
}

INSTANTIATE_TEST_SUITE_P(Onednn, FastBackends, ::testing::ValuesIn(cases_of("onednn")), name_of);
INSTANTIATE_TEST_SUITE_P(Cuda, FastBackends, ::testing::ValuesIn(testing::cases_on_gpu(cases_of("cuda"))), name_of);

}  // namespace
}  // namespace sluice::kernels
