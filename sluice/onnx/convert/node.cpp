#include <fmt/format.h>

#include "sluice/graph/shapes/shape_rules.hpp"
#include "sluice/onnx/convert/conversion.hpp"

namespace sluice::onnx {
namespace {

constexpr std::int64_t kMostComputedWeights = 1 << 16;

Result<HostArray> computed(const Conversion& conversion, const WeightExpression& weights) {
  HostArray array = filled(weights.shape, 0.0F);
  const ReadInitializer read = [&](const std::string& name, std::int64_t first, std::span<float> values) {
    return read_floats(*conversion.initializers.find(name), first, values);
  };
  SLUICE_RETURN_IF_ERROR(evaluate_weights(weights, read, 0, array.floats));
  return array;
}

}  // namespace

bool Node::is_constant(int input) {
  const Value it = value(input);
  if (it.kind == Value::Kind::kArray) return true;
  if (it.kind != Value::Kind::kWeights) return false;
  std::set<std::string> names;
  it.weights->collect_initializers(names);
  const bool trained = std::ranges::any_of(names, [&](const auto& name) { return conversion.trained.contains(name); });
  return !trained && checked_count(it.weights->shape).value_or(kMostElements) <= kMostComputedWeights;
}

Result<graph::Shape> Node::shape(int input) {
  const std::optional<graph::Shape> known = conversion.shape(value(input));
  if (!known) return error(fmt::format("needs input {}", input));
  return *known;
}

Result<graph::TensorId> Node::tensor(int input) {
  if (!has(input)) return error(fmt::format("needs input {}", input));
  return conversion.tensor(value(input), proto.input(input));
}

Result<HostArray> Node::array(int input) {
  if (!has(input)) return error(fmt::format("needs input {}", input));
  const Value it = value(input);
  if (it.kind == Value::Kind::kArray) return *it.array;
  if (is_constant(input)) return computed(conversion, *it.weights);
  return error(fmt::format("needs a constant as input {}, but '{}' is trained or computed from the step's data", input,
                           proto.input(input)));
}

Result<std::vector<std::int64_t>> Node::integers(int input) {
  SLUICE_ASSIGN(HostArray values, array(input));
  if (!values.is_integer) return error(fmt::format("needs integers as input {}", input));
  return std::move(values.ints);
}

Result<Weights> Node::weights(int input, std::size_t rank) {
  if (!has(input)) return error(fmt::format("needs weights as input {}", input));
  const Value it = value(input);
  Weights result = it.weights;
  if (it.kind == Value::Kind::kArray && !it.array->is_integer) {
    result = literal_weights(it.array->floats, it.array->shape);
    if (const TensorSource* source = conversion.initializers.find(proto.input(input))) {
      result = initializer_weights(proto.input(input), source->shape);
    }
  }
  if (result == nullptr) {
    return error(
        fmt::format("needs weights from the file as input {}, but '{}' is computed", input, proto.input(input)));
  }
  if (result->shape.size() != rank || checked_count(result->shape).value_or(0) == 0) {
    return error(fmt::format("needs weights of {} dimensions as input {}, but '{}' is {}", rank, input,
                             proto.input(input), graph::to_string(result->shape)));
  }
  return result;
}

void Node::set(Value value, int output) {
  if (output < proto.output_size()) conversion.set(proto.output(output), value);
  if (output != 0) return;
  for (const std::string& name : result_names_) conversion.set(name, value);
}

Result<graph::TensorId> Node::add(graph::OpKind kind, const graph::Attributes& wanted,
                                  const std::vector<graph::TensorId>& inputs) {
  if (builder.failed()) return graph::TensorId{-1};  // the walk reports it
  std::vector<graph::Shape> shapes;
  for (const graph::TensorId input : inputs) shapes.push_back(builder.shape(input));
  SLUICE_ASSIGN(const std::vector<graph::Shape> results, graph::infer_shapes(kind, wanted, shapes));
  for (const graph::Shape& result : results) {
    if (checked_count(result).value_or(0) == 0) {
      return error(fmt::format("would make a tensor {}, which is larger than any machine", graph::to_string(result)));
    }
  }
  return builder.add(kind, wanted, inputs);
}

void Node::set_integral(graph::TensorId tensor, int output) {
  Value value = tensor_value(tensor);
  value.integral = true;
  set(value, output);
}

bool Node::is_integral(int input) {
  const Value it = value(input);
  return it.kind == Value::Kind::kArray ? it.array->is_integer : it.integral;
}

const ::onnx::NodeProto* Node::only_reader(const std::string& op_type) const {
  const std::string& last = result_names_.empty() ? proto.output(0) : result_names_.back();
  const ::onnx::NodeProto* reader = conversion.network.only_reader(last);
  return reader != nullptr && reader->op_type() == op_type && reader->output_size() > 0 ? reader : nullptr;
}

void Node::absorb_reader(const ::onnx::NodeProto& reader) {
  conversion.absorb(reader);
  result_names_.push_back(reader.output(0));
}

graph::Activation Node::absorb_activation() {
  if (const ::onnx::NodeProto* relu = only_reader("Relu")) {
    absorb_reader(*relu);
    return graph::Activation::kRelu;
  }
  const ::onnx::NodeProto* clip = only_reader("Clip");
  if (clip == nullptr) return graph::Activation::kNone;
  std::optional<float> low, high;
  if (clip->input_size() == 3) {
    low = conversion.network.number(clip->input(1), conversion.initializers);
    high = conversion.network.number(clip->input(2), conversion.initializers);
  }
  if (clip->input_size() == 1) {
    NodeAttributes limits(*clip);
    low = limits.real("min", -1);
    high = limits.real("max", -1);
  }
  if (low != 0.0F || high != 6.0F) return graph::Activation::kNone;
  absorb_reader(*clip);
  return graph::Activation::kRelu6;
}

}  // namespace sluice::onnx
