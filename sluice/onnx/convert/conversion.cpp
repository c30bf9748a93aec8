#include "sluice/onnx/convert/conversion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::onnx {
namespace {

constexpr int kUntrained = -1;  // the group of constants

// What constants may grow to: small files with large masks, and large models with one in each of many layers.
constexpr Bytes kConstantsOfAny = 256 * kMiB;
constexpr Bytes kConstantsOfAByte = 64;

// Zeros and large negative numbers mask attention scores; nobody trains them.
bool is_mask(const HostArray& array) {
  const auto hides = [](float value) { return value <= -1e4F; };
  const auto hides_or_keeps = [&](float value) { return value == 0 || hides(value); };
  return std::any_of(array.floats.begin(), array.floats.end(), hides) &&
         std::all_of(array.floats.begin(), array.floats.end(), hides_or_keeps);
}

Value value_of(const TensorSource& source, const std::string& name) {
  const bool small = source.count <= 1 || source.shape.empty();
  const bool square = source.shape.size() >= 2 && source.shape.back() == source.shape[source.shape.size() - 2];
  if (source.is_integer() || small || (square && source.count <= kMostArrayElements)) {
    Result<HostArray> array = read_array(source);
    if (array.ok() && (source.is_integer() || small || is_mask(*array))) return array_value(std::move(array).value());
    if (source.is_integer()) return {};
  }
  return weights_value(initializer_weights(name, source.shape));
}

// Which part of `initializer` an expression reads: slices along one axis, or all of it.
struct Part {
  std::int64_t axis = -1, begin = 0, end = 0;
};

void collect_parts(const WeightExpression& x, const std::string& initializer, std::vector<Part>& parts) {
  using Kind = WeightExpression::Kind;
  if (x.kind == Kind::kInitializer && x.name == initializer) parts.push_back({});
  const bool direct = x.kind == Kind::kSlice && x.parts[0]->kind == Kind::kInitializer;
  if (direct && x.parts[0]->name == initializer) {
    parts.push_back({x.axis, x.begin, x.begin + x.shape[as_index(x.axis)]});
  }
  for (const Weights& part : x.parts) {
    if (!direct) collect_parts(*part, initializer, parts);
  }
}

bool overlap(const Part& a, const Part& b) {
  return a.axis < 0 || b.axis < 0 || a.axis != b.axis || (a.begin < b.end && b.begin < a.end);
}

// Whether two of several uses read the same elements. What one use does with its pieces is its own business.
bool any_overlap(const std::vector<std::vector<Part>>& uses) {
  for (std::size_t i = 0; i < uses.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      for (const Part& a : uses[i]) {
        if (std::any_of(uses[j].begin(), uses[j].end(), [&](const Part& b) { return overlap(a, b); })) return true;
      }
    }
  }
  return false;
}

// "w", "w[0:64]" for a part of it, or the hint.
std::string parameter_name(const Weights& weights, const std::string& hint) {
  using Kind = WeightExpression::Kind;
  const WeightExpression* x = weights.get();
  std::string part;
  while (x->parts.size() == 1) {
    if (x->kind == Kind::kSlice) {
      part = fmt::format("[{}:{}]{}", x->begin, x->begin + x->shape[as_index(x->axis)], part);
    }
    x = x->parts[0].get();
  }
  return x->kind == Kind::kInitializer ? x->name + part : hint;
}

// Of a longer sequence, say, the model has more of them.
graph::TensorPart rows_of_initializer(const WeightExpression& x) {
  using Kind = WeightExpression::Kind;
  if (x.kind != Kind::kSlice || x.axis != 0 || x.parts[0]->kind != Kind::kInitializer) return {};
  return {x.parts[0]->name, {x.begin, x.begin + x.shape[0]}};
}

std::vector<float> floats_of(const HostArray& array) {
  if (!array.is_integer) return array.floats;
  std::vector<float> values;
  for (const std::int64_t value : array.ints) values.push_back(static_cast<float>(value));
  return values;
}

}  // namespace

Value array_value(HostArray array) {
  Value value;
  value.kind = Value::Kind::kArray;
  value.array = std::make_shared<const HostArray>(std::move(array));
  return value;
}

Value weights_value(Weights weights) {
  Value value;
  value.kind = weights == nullptr ? Value::Kind::kUnknown : Value::Kind::kWeights;
  value.weights = std::move(weights);
  return value;
}

Value tensor_value(graph::TensorId tensor) {
  Value value;
  value.kind = Value::Kind::kTensor;
  value.tensor = tensor;
  return value;
}

Value Conversion::value(const std::string& name) {
  const auto found = values_.find(name);
  if (found != values_.end()) return found->second;
  const TensorSource* source = initializers.find(name);
  if (source == nullptr) return {};
  if (!trained.contains(name)) return values_[name] = value_of(*source, name);
  Weights weights = initializer_weights(name, source->shape);
  if (source->shape.empty()) weights = reshaped_weights(weights, {1});
  return values_[name] = weights_value(std::move(weights));
}

void Conversion::set(const std::string& name, Value value) {
  if (value.kind == Value::Kind::kArray) {
    count_constant(value.array->count() *
                   (value.array->is_integer ? Bytes{sizeof(std::int64_t)} : Bytes{sizeof(float)}));
  }
  values_[name] = std::move(value);
}

Status Conversion::check_constants() const {
  const Bytes allowed = kConstantsOfAny + kConstantsOfAByte * initializers.bytes();
  if (constant_bytes_ <= allowed) return {};
  return Error{
      ErrorCode::kBadInput,
      fmt::format("what is computed from constants takes {} so far, and a model with {} of weights may have {}: "
                  "simplify it, or export it with the constants as inputs",
                  format_bytes(constant_bytes_), format_bytes(initializers.bytes()), format_bytes(allowed)),
      constant_bytes_, allowed};
}

std::optional<graph::Shape> Conversion::shape(const Value& value) const {
  switch (value.kind) {
    case Value::Kind::kArray:
      return value.array->shape;
    case Value::Kind::kWeights:
      return value.weights->shape;
    case Value::Kind::kTensor: {
      graph::Shape shape = builder.shape(value.tensor);
      if (value.time_major) std::swap(shape[0], shape[1]);
      if (shape.size() == 4) {
        shape[2] += value.padding[0] + value.padding[2];
        shape[3] += value.padding[1] + value.padding[3];
      }
      return shape;
    }
    case Value::Kind::kUnknown:
      break;
  }
  return std::nullopt;
}

Result<graph::TensorId> Conversion::parameter(const Weights& weights, const std::string& hint, graph::Role role) {
  if (weights == nullptr) return Error{ErrorCode::kBadInput, "its weights are put together from too many pieces"};
  const std::string text = weights->text();
  if (const auto found = parameters_.find(text); found != parameters_.end()) return found->second;
  count_constant(static_cast<Bytes>(weights->values.size() * sizeof(float)));
  std::set<std::string> names;
  weights->collect_initializers(names);
  uses_.emplace(text, weights);
  const bool whole = weights->kind == WeightExpression::Kind::kInitializer;
  const std::set<int> groups = groups_of(names);
  const bool is_shared =
      groups.size() > 1 || std::ranges::any_of(names, [&](const auto& name) { return shared.contains(name); });
  if (!whole && is_shared) {
    SLUICE_ASSIGN(const graph::TensorId made, realize(weights));
    return parameters_[text] = made;
  }
  graph::Init init;
  init.kind = graph::Init::Kind::kGiven;
  init.source = distinct_name(parameter_name(weights, hint));
  sources[init.source] = weights;
  const bool is_trained = !groups.empty() && *groups.begin() != kUntrained;
  const graph::Role kept = is_trained ? role : graph::Role::kBuffer;
  return parameters_[text] =
             builder.named_parameter(init.source, weights->shape, init, kept, rows_of_initializer(*weights));
}

std::set<int> Conversion::groups_of(const std::set<std::string>& names) const {
  std::set<int> groups;
  for (const std::string& name : names) {
    const auto found = trained.find(name);
    groups.insert(found != trained.end() ? found->second : trained.empty() ? 0 : kUntrained);
  }
  return groups;
}

// The expression as ops on whole parameters, so that ops that share an initializer train the same one.
Result<graph::TensorId> Conversion::realize(const Weights& weights) {
  using Kind = WeightExpression::Kind;
  if (weights->kind == Kind::kInitializer || weights->kind == Kind::kLiteral) return parameter(weights, "constant");
  std::vector<graph::TensorId> parts;
  for (const Weights& part : weights->parts) {
    SLUICE_ASSIGN(const graph::TensorId made, realize(part));
    parts.push_back(made);
  }
  switch (weights->kind) {
    case Kind::kTranspose:
      return builder.transpose(parts[0], weights->axes);
    case Kind::kReshape:
      return builder.reshape(parts[0], weights->shape);
    case Kind::kSlice:
      return builder.slice(parts[0], weights->axis, weights->begin,
                           weights->begin + weights->shape[static_cast<std::size_t>(weights->axis)]);
    default:
      return builder.concat(parts, weights->axis);
  }
}

Result<graph::TensorId> Conversion::tensor(const Value& value, const std::string& name) {
  if (value.kind == Value::Kind::kWeights) return parameter(value.weights, name);
  if (value.kind == Value::Kind::kArray) {
    const HostArray& array = *value.array;
    if (array.count() == 0) return bad_input(fmt::format("computes with the empty tensor '{}'", name));
    return parameter(literal_weights(floats_of(array), array.shape.empty() ? graph::Shape{1} : array.shape), name);
  }
  SLUICE_CHECK(value.kind == Value::Kind::kTensor, "converters do not run on unknown values");
  const auto& [top, left, bottom, right] = value.padding;
  graph::TensorId x = value.tensor;
  if (builder.failed()) return graph::TensorId{-1};
  if (builder.tensor(x).dtype == graph::DType::kI32) {
    x = builder.to_float(x);
    return value.time_major ? builder.transpose(x, {1, 0}) : x;
  }
  const auto pad = [&](std::int64_t axis, std::int64_t before, std::int64_t after) {
    if (before == 0 && after == 0) return;
    graph::PartAttributes attributes;
    attributes.axis = axis;
    attributes.shape = builder.shape(x);
    std::int64_t& extent = attributes.shape[as_index(axis)];
    attributes.begin = before;
    attributes.end = before + extent;
    extent += before + after;
    x = builder.add(graph::OpKind::kPad, attributes, {x});
  };
  pad(2, top, bottom);
  if (!builder.failed()) pad(3, left, right);
  return x;
}

bool Conversion::is_read(const std::string& value) const {
  const std::vector<const ::onnx::NodeProto*>& readers = network.readers(value);
  return wanted.contains(value) || std::any_of(readers.begin(), readers.end(),
                                               [&](const ::onnx::NodeProto* node) { return live.contains(node); });
}

std::string Conversion::distinct_name(const std::string& name) {
  std::string result = name;
  for (int i = 2; sources.contains(result); ++i) result = fmt::format("{}_{}", name, i);
  return result;
}

SharedInitializers Conversion::find_shared() const {
  std::map<std::string, std::vector<std::vector<Part>>> parts;
  for (const auto& [text, weights] : uses_) {
    std::set<std::string> names;
    weights->collect_initializers(names);
    for (const std::string& name : names) collect_parts(*weights, name, parts[name].emplace_back());
  }
  SharedInitializers result;
  for (const auto& [name, of] : parts) {
    if (any_overlap(of)) result.insert(name);
  }
  return result;
}

}  // namespace sluice::onnx
