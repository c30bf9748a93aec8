// Every op case in bf16, and in fp16, with fp32 master weights, against the reference on the same rounded operands.
#include "sluice/graph/rewrite/mixed_precision.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sluice/kernels/backends/backends.hpp"
#include "sluice/kernels/onednn/bf16_support.hpp"
#include "sluice/testing/training_run.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t kSeed = 20240611;
constexpr StepContext kContext{.step = 3, .learning_rate = 0.1F, .seed = 5};

// The case with its leaves made by ops: integers by an input op, fp32 ones from parameters with "." before their names.
// Only what an op makes, or what is persistent, has a place in the table of types.
Graph with_made_leaves(const Graph& logical, const NamedValues& leaves) {
  Graph result;
  result.name = logical.name;
  result.layers = logical.layers;
  for (const Tensor& tensor : logical.tensors()) result.add_tensor(tensor);
  Op input{.name = "input", .kind = OpKind::kInput};
  for (TensorId id = 0; id < logical.tensor_count(); ++id)
    if (logical.tensor(id).dtype == DType::kI32) input.outputs.push_back(id);
  if (!input.outputs.empty()) result.add_op(input);
  for (TensorId id = 0; id < logical.tensor_count(); ++id) {
    const Tensor& leaf = logical.tensor(id);
    if (leaves.count(leaf.name) == 0 || leaf.dtype != DType::kF32 || is_persistent(leaf.role)) continue;
    const TensorId source = result.add_tensor({.name = "." + leaf.name, .shape = leaf.shape, .role = Role::kParameter});
    result.add_op({.name = "." + leaf.name + "#copy",
                   .kind = OpKind::kUnary,
                   .attributes = {.unary = UnaryFunction::kLinear, .alpha = 1},
                   .inputs = {source},
                   .outputs = {id}});
  }
  for (const Op& op : logical.ops()) result.add_op(op);
  return result;
}

NamedValues values_of_leaves(const Graph& made, const NamedValues& leaves) {
  NamedValues values = leaves;
  for (const auto& [name, leaf] : leaves)
    for (const Tensor& tensor : made.tensors())
      if (tensor.name == "." + name) {
        values.erase(name);
        values[tensor.name] = leaf;
      }
  return values;
}

// Gives the integer leaves as step data.
class LeafInput : public InputSource {
 public:
  LeafInput(const Graph& graph, const NamedValues& leaves) {
    for (const Tensor& tensor : graph.tensors())
      if (tensor.dtype == DType::kI32) values_.push_back(leaves.at(tensor.name));
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

bool is_float(const Tensor& tensor) { return tensor.dtype == DType::kF32 || is_half(tensor.dtype); }

// What an op of `logical` made, by logical name, as fp32.
NamedValues results(const Graph& logical, const Op& executed, const GraphRunner& runner) {
  NamedValues values;
  for (const Op& op : logical.ops()) {
    if (op.name != executed.name) continue;
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      const Tensor& tensor = logical.tensor(op.outputs[i]);
      if (is_float(tensor)) values[tensor.name] = runner.plain(executed.outputs[i]);
    }
  }
  return values;
}

// Runs the case; every op's results by name.
NamedValues run_mixed(const Graph& logical, CompiledGraph& compiled, const NamedValues& leaves, int garbage = 0) {
  GraphRunner runner(compiled);
  for (TensorId id = 0; id < runner.graph().tensor_count(); ++id) {
    std::memset(runner.data(id), garbage, runner.bytes(id).size());
  }
  set_leaves(runner, leaves);
  LeafInput input(logical, leaves);
  StepContext context = kContext;
  context.input = &input;
  NamedValues values;
  for (OpIndex index = 0; index < runner.graph().op_count(); ++index) {
    runner.run_op(index, context);
    for (auto& [name, made] : results(logical, runner.graph().op(index), runner)) values[name] = std::move(made);
  }
  return values;
}

// bf16 has 8 significant bits, so 0.4 % a rounding, and fp16 has 11; a case is a handful of ops, each on rounded results of
// the others.
void expect_close(DType half, const std::vector<float>& actual, const std::vector<float>& expected) {
  const float tolerance = half == DType::kF16 ? 0.0025F : 0.02F;
  ASSERT_EQ(actual.size(), expected.size());
  float largest = 1e-3F;
  for (const float value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_FALSE(std::isnan(actual[i])) << "element " << i;
    ASSERT_NEAR(actual[i], expected[i], tolerance * largest) << "element " << i;
  }
}

// Skipped on processors without AVX-512, where oneDNN has no bf16 kernels to compare (bf16_support.hpp).
class OnednnMixedPrecision : public ::testing::TestWithParam<std::pair<DType, OpCase>> {
 protected:
  void SetUp() override {
    if (GetParam().first == DType::kBF16 && !has_bf16_kernels()) GTEST_SKIP() << "no AVX-512";
  }
};

TEST_P(OnednnMixedPrecision, MatchesReference) {
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  const auto& [half, op_case] = GetParam();
  const NamedValues case_leaves = leaf_values(op_case.graph, kSeed);
  const Graph logical = to_mixed_precision(with_made_leaves(op_case.graph, case_leaves), half);
  const auto fast = compiled(make_onednn_backend(), logical);
  const auto slow = compiled(make_reference_backend(), logical);
  const NamedValues leaves = values_of_leaves(logical, case_leaves);
  const NamedValues actual = run_mixed(logical, *fast, leaves);
  const NamedValues expected = run_mixed(logical, *slow, leaves);
  ASSERT_FALSE(expected.empty());
  for (const auto& [name, values] : expected) {
    SCOPED_TRACE(name);
    if (actual.count(name) > 0) expect_close(half, actual.at(name), values);  // views have no op of their own
  }
}

// Kernels of fp16 make copies of their operands where others work in place.
TEST_P(OnednnMixedPrecision, GivesTheSameBitsOverAnyGarbage) {
  const auto& [half, op_case] = GetParam();
  const NamedValues case_leaves = leaf_values(op_case.graph, kSeed);
  const Graph logical = to_mixed_precision(with_made_leaves(op_case.graph, case_leaves), half);
  const auto graph = compiled(make_onednn_backend(), logical);
  const NamedValues leaves = values_of_leaves(logical, case_leaves);
  const NamedValues once = run_mixed(logical, *graph, leaves, 0), again = run_mixed(logical, *graph, leaves, 0xff);
  for (const auto& [name, values] : once) EXPECT_EQ(again.at(name), values) << name;
}

// Cases of the cast itself are no fp32 graphs.
std::vector<std::pair<DType, OpCase>> fp32_cases() {
  std::vector<std::pair<DType, OpCase>> cases;
  for (const DType half : {DType::kBF16, DType::kF16}) {
    for (OpCase& op_case : op_cases()) cases.emplace_back(half, std::move(op_case));
  }
  std::erase_if(cases, [](const auto& each) {
    const auto& tensors = each.second.graph.tensors();
    return std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return is_half(t.dtype); });
  });
  return cases;
}

std::string name_of(const ::testing::TestParamInfo<std::pair<DType, OpCase>>& tested) {
  return std::string(to_string(tested.param.first)) + "_" + test_name(tested.param.second);
}

INSTANTIATE_TEST_SUITE_P(Cases, OnednnMixedPrecision, ::testing::ValuesIn(fp32_cases()), name_of);

}  // namespace
}  // namespace sluice
