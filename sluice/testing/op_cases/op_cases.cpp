#include "sluice/testing/op_cases/op_cases.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <ostream>

#include "sluice/base/as_index.hpp"
#include "sluice/base/random.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/testing/op_cases/case_builder.hpp"

namespace sluice::testing {
namespace {

bool wants_positive(graph::UnaryFunction function) {
  using enum graph::UnaryFunction;
  return function == kLog || function == kSqrt || function == kPower;
}

bool wants_positive(graph::BinaryFunction function, std::size_t input) {
  using enum graph::BinaryFunction;
  const bool divides = function == kDivide || function == kModulo || function == kRemainder;
  return function == kPower ? input == 0 : divides && input == 1;
}

// Whether an op is undefined where this input is not above zero.
bool must_be_positive(const graph::Op& op, std::size_t input) {
  switch (op.kind) {
    case graph::OpKind::kUnary:
      return wants_positive(op.as<graph::UnaryAttributes>().function);
    case graph::OpKind::kBinary:
      return wants_positive(op.as<graph::BinaryAttributes>().function, input);
    case graph::OpKind::kBatchNormApply:
      return input == 2;  // variances
    case graph::OpKind::kAdamUpdate:
      return input == 3;  // mean squares
    default:
      return false;
  }
}

float leaf_integer(const graph::Tensor& tensor, std::uint64_t seed, std::uint64_t element) {
  if (tensor.content == graph::Content::kHiddenTokens && element % 3 != 0) return -1;
  const std::uint64_t bound = tensor.bound > 0 ? static_cast<std::uint64_t>(tensor.bound) : 3;
  return static_cast<float>(random_bits(seed, stream_of(tensor.name), element) % bound);
}

float leaf_float(const graph::Tensor& tensor, std::uint64_t seed, std::uint64_t element) {
  if (tensor.init.kind == graph::Init::Kind::kConstant) return tensor.init.stddev;
  const float normal = random_normal(seed, stream_of(tensor.name), element);
  const float scale = tensor.init.kind == graph::Init::Kind::kNormal ? tensor.init.stddev : 1;
  return scale * (normal + std::copysign(0.1F, normal));
}

std::vector<float> leaf_of(const graph::Tensor& tensor, std::uint64_t seed, bool positive) {
  std::vector<float> values(as_index(graph::element_count(tensor.shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = tensor.dtype == graph::DType::kI32 ? leaf_integer(tensor, seed, i) : leaf_float(tensor, seed, i);
    if (positive) values[i] = std::abs(values[i]);
  }
  return values;
}

}  // namespace

std::vector<OpCase> op_cases() {
  std::vector<OpCase> cases;
#define SLUICE_CASE_FAMILY(family) family(cases);
  SLUICE_CASE_FAMILIES(SLUICE_CASE_FAMILY)
#undef SLUICE_CASE_FAMILY
  return cases;
}

namespace {

bool gpu_has_kernel(const graph::Graph& graph, const graph::Op& op) {
  if (op.kind == graph::OpKind::kEmbedding || op.kind == graph::OpKind::kEmbeddingBackward) {
    return graph.tensor(op.inputs[0]).dtype == graph::DType::kI32;
  }
  const auto* const update = std::get_if<graph::UpdateAttributes>(&op.attributes);
  const bool plain = update == nullptr || (!graph::has_master(op) && !update->nesterov && update->rate == 0);
  return graph::traits(op.kind).gpu && plain;
}

bool runs_on_gpu(const graph::Graph& graph) {
  const auto fp16 = [](const graph::Tensor& tensor) { return tensor.dtype == graph::DType::kF16; };
  return std::ranges::none_of(graph.tensors(), fp16) &&
         std::ranges::all_of(graph.ops(), [&](const graph::Op& op) { return gpu_has_kernel(graph, op); });
}

std::vector<OpCase> cases_where(bool on_gpu) {
  std::vector<OpCase> cases = op_cases();
  std::erase_if(cases, [&](const OpCase& each) { return runs_on_gpu(each.graph) != on_gpu; });
  return cases;
}

}  // namespace

std::vector<OpCase> op_cases_of_gpu() { return cases_where(true); }
std::vector<OpCase> op_cases_not_of_gpu() { return cases_where(false); }

namespace {

// By tensor: whether an op wants it in fp32, or it is a factor or the result of a product with a factor in fp32.
std::vector<bool> stay_in_f32(const graph::Graph& graph) {
  std::vector<bool> stays(graph.tensors().size(), false);
  const auto stay = [&](graph::TensorId id) { return stays[as_index(id)]; };
  for (std::size_t round = 0; round < 4; ++round) {
    for (const graph::Op& op : graph.ops()) {
      const graph::OperandLetters& letters = graph::traits(op.kind).precision;
      const bool factors = op.inputs.size() > 1 && letters.inputs().starts_with('h');
      const bool both = factors && (stay(op.inputs[0]) || (letters.input(1) == 'h' && stay(op.inputs[1])));
      for (std::size_t i = 0; i < op.inputs.size(); ++i)
        if (letters.input(i) == 'f' || (both && i < 2)) stays[as_index(op.inputs[i])] = true;
      for (std::size_t i = 0; i < op.outputs.size(); ++i)
        if (letters.output(i) == 'f' || both) stays[as_index(op.outputs[i])] = true;
    }
  }
  return stays;
}

}  // namespace

graph::Graph in_bf16(const graph::Graph& logical) {
  graph::Graph graph = logical;
  const std::vector<bool> stays = stay_in_f32(graph);
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    graph::Tensor& tensor = graph.tensor(id);
    if (tensor.dtype != graph::DType::kF32 || stays[as_index(id)]) continue;
    tensor.dtype = graph::DType::kBF16;
    tensor.bytes = graph::element_count(tensor.shape) * size_of(tensor.dtype);
  }
  return graph;
}

std::string test_name(const OpCase& op_case) {
  std::string name = op_case.name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

std::ostream& operator<<(std::ostream& out, const OpCase& op_case) { return out << op_case.name; }

NamedValues leaf_values(const graph::Graph& logical, std::uint64_t seed) {
  std::vector<bool> written(logical.tensors().size(), false);
  NamedValues values;
  for (const graph::Op& op : logical.ops()) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const graph::Tensor& tensor = logical.tensor(op.inputs[i]);
      if (written[as_index(op.inputs[i])] || values.contains(tensor.name)) continue;
      values[tensor.name] = leaf_of(tensor, seed, must_be_positive(op, i));
    }
    for (const graph::TensorId id : op.outputs) written[as_index(id)] = true;
  }
  return values;
}

void set_leaves(GraphRunner& runner, const NamedValues& leaves) {
  for (const auto& [name, values] : leaves) {
    const graph::TensorId id = runner.find(name);
    if (runner.graph().tensor(id).dtype != graph::DType::kI32) {
      runner.set_plain(id, values);
    } else {
      std::copy(values.begin(), values.end(), reinterpret_cast<std::int32_t*>(runner.data(id)));
    }
  }
}

NamedValues run_case(const graph::Graph& logical, GraphRunner& runner, const NamedValues& leaves,
                     const kernels::StepContext& context) {
  std::map<std::string, const graph::Op*> logical_ops;
  for (const graph::Op& op : logical.ops()) logical_ops[op.name] = &op;
  set_leaves(runner, leaves);
  NamedValues values;
  for (graph::OpIndex index = 0; index < runner.graph().op_count(); ++index) {
    runner.run_op(index, context);
    const auto source = logical_ops.find(runner.graph().op(index).name);
    if (source == logical_ops.end()) continue;  // a reorder of the backend's own
    for (std::size_t i = 0; i < source->second->outputs.size(); ++i) {
      const graph::Tensor& tensor = logical.tensor(source->second->outputs[i]);
      if (tensor.dtype == graph::DType::kF32) values[tensor.name] = runner.plain(runner.graph().op(index).outputs[i]);
    }
  }
  // A view has the values of what it shows; some backends have no op for it.
  for (const graph::Op& op : logical.ops()) {
    const auto shown = values.find(logical.tensor(op.inputs.empty() ? op.outputs[0] : op.inputs[0]).name);
    if (op.kind == graph::OpKind::kReshape && shown != values.end())
      values.try_emplace(logical.tensor(op.outputs[0]).name, shown->second);
  }
  return values;
}

}  // namespace sluice::testing
