#include "sluice/graph/builder/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sluice/base/random.hpp"
#include "sluice/graph/ops/checked_count.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/graph/shapes/shape_rules.hpp"

namespace sluice::graph {
namespace {

constexpr TensorId kNoTensor = -1;

struct OutputFormat {
  std::string suffix;
  DType dtype = DType::kF32;
  Role role = Role::kActivation;
};

// Of the outputs that the op makes. A batch norm's last output is its input `running`, which exists already.
std::vector<OutputFormat> output_formats(OpKind kind, DType input) {
  switch (traits(kind).made) {
    case Made::kOne:
      return {{""}};
    case Made::kAsInput:
      return {{"", input}};
    case Made::kWithStats:
      return {{""}, {".stats"}};
    case Made::kWithIndex:
      return {{""}, {".index", DType::kU8}};
    case Made::kCell:
      return {{""}, {".c"}, {".gates"}};
    case Made::kLoss:
      return {{".loss", DType::kF32, Role::kOutput}};
    case Made::kLossAndProbabilities:
      return {{".loss", DType::kF32, Role::kOutput}, {".probabilities"}};
  }
  return {};
}

std::string too_large(std::string_view what, const Shape& shape) {
  return fmt::format("{} would be a tensor {}, which is larger than any machine", what, to_string(shape));
}

bool is_integer(Content content) { return content != Content::kNone && !is_float(content); }

bool is_label(Content content) {
  return content == Content::kLabels || content == Content::kNextTokens || content == Content::kHiddenTokens;
}

}  // namespace

void GraphBuilder::begin_layer(std::string name) { graph_.layers.push_back(std::move(name)); }

void GraphBuilder::end_stage(std::string_view trained_prefix) {
  if (!usable({})) return;
  if (!has_loss_) return fail("a stage ends without a loss");
  Stage& stage = graph_.stages.emplace_back(Stage{graph_.op_count(), {}});
  for (TensorId id = 0; id < graph_.tensor_count(); ++id) {
    const Tensor& tensor = graph_.tensor(id);
    if (tensor.role == Role::kParameter && tensor.name.starts_with(trained_prefix)) stage.trained.push_back(id);
  }
  has_loss_ = false;
}

bool GraphBuilder::usable(std::initializer_list<TensorId> inputs) const {
  SLUICE_CHECK(!graph_.layers.empty(), "begin_layer must come before the first op");
  for (const TensorId id : inputs) {
    SLUICE_CHECK(error_ || (id >= 0 && id < graph_.tensor_count()), "an op's input is not a tensor of this graph");
  }
  return !error_;
}

void GraphBuilder::fail(const std::string& message) {
  if (!error_) error_ = Error{ErrorCode::kBadInput, fmt::format("layer '{}': {}", graph_.layers.back(), message)};
}

std::string GraphBuilder::distinct(const std::string& name) {
  const int count = ++names_[name];
  return count == 1 ? name : fmt::format("{}_{}", name, count);
}

std::string GraphBuilder::unique_name(const std::string& suffix) {
  return distinct(graph_.layers.back() + "." + suffix);
}

TensorId GraphBuilder::add_parameter(const std::string& suffix, Shape shape, Init init, Role role) {
  return new_parameter(unique_name(suffix), std::move(shape), std::move(init), role);
}

TensorId GraphBuilder::add_weight(const std::string& name, Shape shape, std::int64_t fan_in) {
  Init init;
  init.kind = Init::Kind::kNormal;
  init.stddev = stddev_.value_or(static_cast<float>(std::sqrt(2.0 / static_cast<double>(fan_in))));
  return new_parameter(unique_name(name), std::move(shape), init);
}

TensorId GraphBuilder::named_parameter(const std::string& name, Shape shape, Init init, Role role, TensorPart part) {
  if (!usable({})) return kNoTensor;
  ++names_[name];  // no parameter of a layer gets it, too
  const TensorId id = new_parameter(name, std::move(shape), std::move(init), role);
  if (id == kNoTensor) return id;
  graph_.tensor(id).part = std::move(part);
  graph_.tensor(id).parameter = name;
  return id;
}

TensorId GraphBuilder::new_parameter(std::string name, Shape shape, Init init, Role role) {
  if (!checked_count(shape)) {
    fail(too_large(name, shape));
    return kNoTensor;
  }
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.shape = std::move(shape);
  tensor.role = role;
  tensor.init = std::move(init);
  const bool random = tensor.init.kind == Init::Kind::kNormal || tensor.init.kind == Init::Kind::kUniform;
  if (random) tensor.init.stream = stream_of(tensor.name);
  return graph_.add_tensor(std::move(tensor));
}

TensorId GraphBuilder::add(OpKind kind, const Attributes& attributes, const std::vector<TensorId>& inputs) {
  for (const TensorId id : inputs) usable({id});
  return error_ ? kNoTensor : add_op(kind, attributes, inputs);
}

TensorId GraphBuilder::add_op(OpKind kind, const Attributes& attributes, std::vector<TensorId> inputs) {
  if (error_) return kNoTensor;  // one of the inputs could not be made
  std::vector<Shape> input_shapes;
  input_shapes.reserve(inputs.size());
  for (const TensorId id : inputs) input_shapes.push_back(graph_.tensor(id).shape);
  const Result<std::vector<Shape>> shapes = infer_shapes(kind, attributes, input_shapes);
  if (!shapes.ok()) {
    fail(shapes.error().message);
    return kNoTensor;
  }
  for (const Shape& shape : *shapes) {
    if (checked_count(shape)) continue;
    fail(too_large(to_string(kind), shape));
    return kNoTensor;
  }
  Op op;
  op.kind = kind;
  op.attributes = attributes;
  op.name = unique_name(std::string(to_string(kind)));
  op.layer = static_cast<LayerIndex>(graph_.layers.size()) - 1;
  if (auto* dropout = std::get_if<DropoutAttributes>(&op.attributes); dropout != nullptr && dropout->stream == 0)
    dropout->stream = stream_of(op.name);
  for (const OutputFormat& format : output_formats(kind, graph_.tensor(inputs[0]).dtype)) {
    Tensor tensor;
    tensor.name = op.name + format.suffix;
    tensor.shape = shapes->at(op.outputs.size());
    tensor.dtype = format.dtype;
    tensor.role = format.role;
    op.outputs.push_back(graph_.add_tensor(std::move(tensor)));
  }
  if (kind == OpKind::kBatchNorm) op.outputs.push_back(inputs[2]);
  has_loss_ = has_loss_ || is_loss(kind);
  op.inputs = std::move(inputs);
  const TensorId first = op.outputs.front();
  graph_.add_op(std::move(op));
  return first;
}

std::vector<TensorId> GraphBuilder::inputs(const std::vector<InputSpec>& specs) {
  if (!usable({})) return std::vector<TensorId>(specs.size(), kNoTensor);
  Op op;
  op.name = unique_name(std::string(to_string(OpKind::kInput)));
  op.layer = static_cast<LayerIndex>(graph_.layers.size()) - 1;
  for (const InputSpec& spec : specs) {
    const bool positive = std::all_of(spec.shape.begin(), spec.shape.end(), [](auto extent) { return extent >= 1; });
    if (graph_.op_count() > 0 || !positive) {
      fail(fmt::format("input: expects one input op with extents of at least 1, got {} of shape {}", spec.name,
                       to_string(spec.shape)));
      return std::vector<TensorId>(specs.size(), kNoTensor);
    }
    if (!checked_count(spec.shape)) {
      fail(too_large(spec.name, spec.shape));
      return std::vector<TensorId>(specs.size(), kNoTensor);
    }
    Tensor tensor;
    tensor.name = unique_name(spec.name);
    tensor.shape = spec.shape;
    tensor.dtype = is_integer(spec.content) ? DType::kI32 : DType::kF32;
    tensor.role = Role::kInput;
    tensor.content = spec.content;
    tensor.bound = spec.bound;
    op.outputs.push_back(graph_.add_tensor(std::move(tensor)));
    if (!labels_ && is_label(spec.content)) labels_ = op.outputs.back();
  }
  return graph_.op(graph_.add_op(std::move(op))).outputs;
}

Result<Graph> GraphBuilder::finish() {
  if (error_) return *error_;
  if (!graph_.stages.empty() && graph_.stages.back().end != graph_.op_count()) {
    return Error{ErrorCode::kBadInput, fmt::format("graph '{}' has ops after its last stage", graph_.name)};
  }
  if (!has_loss_ && graph_.stages.empty()) {
    return Error{ErrorCode::kBadInput, fmt::format("graph '{}' has no loss", graph_.name)};
  }
  return std::move(graph_);
}

Result<Graph> GraphBuilder::finish_without_loss() {
  if (error_) return *error_;
  return std::move(graph_);
}

}  // namespace sluice::graph
