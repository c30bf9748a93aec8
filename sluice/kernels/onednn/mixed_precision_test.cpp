// Every op case in bf16, and in fp16, with fp32 master weights, against the reference on the same rounded operands.
#include "sluice/graph/rewrite/mixed_precision.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sluice/kernels/backends/backends.hpp"
#include "sluice/kernels/onednn/bf16_support.hpp"
#include "sluice/testing/training_run.hpp"

namespace sluice::kernels {
namespace {

constexpr std::uint64_t kSeed = 20240611;
constexpr StepContext kContext{.step = 3, .learning_rate = 0.1F, .seed = 5};

// The case with its leaves made by ops: integers by an input op, fp32 ones from parameters with "." before their names.
// Only what an op makes, or what is persistent, has a place in the table of types.
graph::Graph with_made_leaves(const graph::Graph& logical, const testing::NamedValues& leaves) {
  graph::Graph result;
  result.name = logical.name;
  result.layers = logical.layers;
  for (const graph::Tensor& tensor : logical.tensors()) result.add_tensor(tensor);
  graph::Op input{.name = "input", .kind = graph::OpKind::kInput};
  for (graph::TensorId id = 0; id < logical.tensor_count(); ++id)
    if (logical.tensor(id).dtype == graph::DType::kI32) input.outputs.push_back(id);
  if (!input.outputs.empty()) result.add_op(input);
  for (graph::TensorId id = 0; id < logical.tensor_count(); ++id) {
    const graph::Tensor& leaf = logical.tensor(id);
    if (leaves.count(leaf.name) == 0 || leaf.dtype != graph::DType::kF32 || graph::is_persistent(leaf.role)) continue;
    const graph::TensorId source =
        result.add_tensor({.name = "." + leaf.name, .shape = leaf.shape, .role = graph::Role::kParameter});
    result.add_op({.name = "." + leaf.name + "#copy",
                   .kind = graph::OpKind::kUnary,
                   .attributes = graph::UnaryAttributes{.function = graph::UnaryFunction::kLinear, .alpha = 1},
                   .inputs = {source},
                   .outputs = {id}});
  }
  for (const graph::Op& op : logical.ops()) result.add_op(op);
  return result;
}

testing::NamedValues values_of_leaves(const graph::Graph& made, const testing::NamedValues& leaves) {
  testing::NamedValues values = leaves;
  for (const auto& [name, leaf] : leaves)
    for (const graph::Tensor& tensor : made.tensors())
      if (tensor.name == "." + name) {
        values.erase(name);
        values[tensor.name] = leaf;
      }
  return values;
}

// Gives the integer leaves as step data.
class LeafInput : public InputSource {
 public:
  LeafInput(const graph::Graph& graph, const testing::NamedValues& leaves) {
    for (const graph::Tensor& tensor : graph.tensors())
      if (tensor.dtype == graph::DType::kI32) values_.push_back(leaves.at(tensor.name));
  }
  Status fill(std::int64_t /*step*/, std::span<const std::span<std::byte>> tensors) override {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      auto* integers = reinterpret_cast<std::int32_t*>(tensors[i].data());
      for (std::size_t k = 0; k < values_[i].size(); ++k) integers[k] = static_cast<std::int32_t>(values_[i][k]);
    }
    return {};
  }

 private:
  std::vector<std::vector<float>> values_;
};

bool is_float(const graph::Tensor& tensor) {
  return tensor.dtype == graph::DType::kF32 || graph::is_half(tensor.dtype);
}

// What an op of `logical` made, by logical name, as fp32.
testing::NamedValues results(const graph::Graph& logical, const graph::Op& executed,
                             const testing::GraphRunner& runner) {
  testing::NamedValues values;
  for (const graph::Op& op : logical.ops()) {
    if (op.name != executed.name) continue;
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      const graph::Tensor& tensor = logical.tensor(op.outputs[i]);
      if (is_float(tensor)) values[tensor.name] = runner.plain(executed.outputs[i]);
    }
  }
  return values;
}

// Runs the case; every op's results by name.
testing::NamedValues run_mixed(const graph::Graph& logical, CompiledGraph& compiled, const testing::NamedValues& leaves,
                               int garbage = 0) {
  testing::GraphRunner runner(compiled);
  for (graph::TensorId id = 0; id < runner.graph().tensor_count(); ++id) {
    std::memset(runner.data(id), garbage, runner.bytes(id).size());
  }
  testing::set_leaves(runner, leaves);
  LeafInput input(logical, leaves);
  StepContext context = kContext;
  context.input = &input;
  testing::NamedValues values;
  for (graph::OpIndex index = 0; index < runner.graph().op_count(); ++index) {
    runner.run_op(index, context);
    for (auto& [name, made] : results(logical, runner.graph().op(index), runner)) values[name] = std::move(made);
  }
  return values;
}

// bf16 has 8 significant bits, so 0.4 % a rounding, and fp16 has 11; a case is a handful of ops, each on rounded results of
// the others.
void expect_close(graph::DType half, const std::vector<float>& actual, const std::vector<float>& expected) {
  const float tolerance = half == graph::DType::kF16 ? 0.0025F : 0.02F;
  ASSERT_EQ(actual.size(), expected.size());
  float largest = 1e-3F;
  for (const float value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_FALSE(std::isnan(actual[i])) << "element " << i;
    ASSERT_NEAR(actual[i], expected[i], tolerance * largest) << "element " << i;
  }
}

// Skipped on processors without AVX-512, where oneDNN has no bf16 kernels to compare (bf16_support.hpp).
class OnednnMixedPrecision : public ::testing::TestWithParam<std::pair<graph::DType, testing::OpCase>> {
 protected:
  void SetUp() override {
    if (GetParam().first == graph::DType::kBF16 && !has_bf16_kernels()) GTEST_SKIP() << "no AVX-512";
  }
};

TEST_P(OnednnMixedPrecision, MatchesReference) {
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  const auto& [half, op_case] = GetParam();
  const testing::NamedValues case_leaves = testing::leaf_values(op_case.graph, kSeed);
  const graph::Graph logical = graph::to_mixed_precision(with_made_leaves(op_case.graph, case_leaves), half);
  const auto fast = testing::compiled(make_onednn_backend(), logical);
  const auto slow = testing::compiled(make_reference_backend(), logical);
  const testing::NamedValues leaves = values_of_leaves(logical, case_leaves);
  const testing::NamedValues actual = run_mixed(logical, *fast, leaves);
  const testing::NamedValues expected = run_mixed(logical, *slow, leaves);
  ASSERT_FALSE(expected.empty());
  for (const auto& [name, values] : expected) {
    SCOPED_TRACE(name);
    if (actual.count(name) > 0) expect_close(half, actual.at(name), values);  // views have no op of their own
  }
}

// Kernels of fp16 make copies of their operands where others work in place.
TEST_P(OnednnMixedPrecision, GivesTheSameBitsOverAnyGarbage) {
  const auto& [half, op_case] = GetParam();
  const testing::NamedValues case_leaves = testing::leaf_values(op_case.graph, kSeed);
  const graph::Graph logical = graph::to_mixed_precision(with_made_leaves(op_case.graph, case_leaves), half);
  const auto graph = testing::compiled(make_onednn_backend(), logical);
  const testing::NamedValues leaves = values_of_leaves(logical, case_leaves);
  const testing::NamedValues once = run_mixed(logical, *graph, leaves, 0),
                             again = run_mixed(logical, *graph, leaves, 0xff);
  for (const auto& [name, values] : once) EXPECT_EQ(again.at(name), values) << name;
}

// Cases of the cast itself are no fp32 graphs.
std::vector<std::pair<graph::DType, testing::OpCase>> fp32_cases() {
  std::vector<std::pair<graph::DType, testing::OpCase>> cases;
  for (const graph::DType half : {graph::DType::kBF16, graph::DType::kF16}) {
    for (testing::OpCase& op_case : testing::op_cases()) cases.emplace_back(half, std::move(op_case));
  }
  std::erase_if(cases, [](const auto& each) {
    const auto& tensors = each.second.graph.tensors();
    return std::any_of(tensors.begin(), tensors.end(), [](const graph::Tensor& t) { return graph::is_half(t.dtype); });
  });
  return cases;
}

std::string name_of(const ::testing::TestParamInfo<std::pair<graph::DType, testing::OpCase>>& tested) {
  return std::string(to_string(tested.param.first)) + "_" + testing::test_name(tested.param.second);
}

INSTANTIATE_TEST_SUITE_P(Cases, OnednnMixedPrecision, ::testing::ValuesIn(fp32_cases()), name_of);

}  // namespace
}  // namespace sluice::kernels
