#include "sluice/graph/builder.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sluice/base/random.hpp"
#include "sluice/graph/shape_rules.hpp"

namespace sluice {
namespace {

constexpr TensorId kNoTensor = -1;
constexpr float kBatchNormEpsilon = 1e-5F;
constexpr float kRunningMomentum = 0.1F;

Attributes window_attributes(std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  Attributes attributes;
  attributes.kernel_h = attributes.kernel_w = kernel;
  attributes.stride = stride;
  attributes.padding = padding;
  return attributes;
}

}  // namespace

void GraphBuilder::begin_layer(std::string name) { graph_.layers.push_back(std::move(name)); }

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

std::string GraphBuilder::unique_name(const std::string& suffix) {
  const std::string name = graph_.layers.back() + "." + suffix;
  const int count = ++names_[name];
  return count == 1 ? name : fmt::format("{}_{}", name, count);
}

TensorId GraphBuilder::add_parameter(const std::string& suffix, Shape shape, Init init, Role role) {
  Tensor tensor;
  tensor.name = unique_name(suffix);
  tensor.shape = std::move(shape);
  tensor.role = role;
  tensor.init = init;
  if (init.kind == Init::Kind::kNormal) tensor.init.stream = stream_of(tensor.name);
  return graph_.add_tensor(std::move(tensor));
}

TensorId GraphBuilder::add_weight(const std::string& name, Shape shape, std::int64_t fan_in) {
  Init init;
  init.kind = Init::Kind::kNormal;
  init.stddev = static_cast<float>(std::sqrt(2.0 / static_cast<double>(fan_in)));
  return add_parameter(name, std::move(shape), init);
}

TensorId GraphBuilder::add_op(Op op, const std::vector<Output>& outputs) {
  std::vector<Shape> inputs;
  for (const TensorId id : op.inputs) inputs.push_back(graph_.tensor(id).shape);
  const Result<std::vector<Shape>> shapes = infer_shapes(op.kind, op.attributes, inputs);
  if (!shapes.ok()) {
    fail(shapes.error().message);
    return kNoTensor;
  }
  op.name = unique_name(std::string(to_string(op.kind)));
  op.layer = static_cast<LayerIndex>(graph_.layers.size()) - 1;
  std::vector<TensorId> made;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Tensor tensor;
    tensor.name = op.name + outputs[i].name;
    tensor.shape = shapes->at(i);
    tensor.dtype = outputs[i].dtype;
    tensor.role = outputs[i].role;
    made.push_back(graph_.add_tensor(std::move(tensor)));
  }
  op.outputs.insert(op.outputs.begin(), made.begin(), made.end());
  graph_.add_op(std::move(op));
  return made.front();
}

TensorId GraphBuilder::input(std::int64_t batch, std::int64_t channels, std::int64_t height, std::int64_t width) {
  if (!usable({})) return kNoTensor;
  const Shape shape = {batch, channels, height, width};
  if (labels_ || std::min({batch, channels, height, width}) < 1) {
    fail(fmt::format("input: expects one input with extents of at least 1, got {}", to_string(shape)));
    return kNoTensor;
  }
  Tensor images{.name = unique_name("images"), .shape = shape, .role = Role::kInput, .init = {}};
  Tensor labels{
      .name = unique_name("labels"), .shape = {batch}, .dtype = DType::kI32, .role = Role::kInput, .init = {}};
  Op op;
  op.name = unique_name(std::string(to_string(OpKind::kInput)));
  op.layer = static_cast<LayerIndex>(graph_.layers.size()) - 1;
  op.outputs = {graph_.add_tensor(std::move(images)), graph_.add_tensor(std::move(labels))};
  labels_ = op.outputs[1];
  return graph_.op(graph_.add_op(std::move(op))).outputs[0];
}

TensorId GraphBuilder::conv2d(TensorId x, const Conv2dOptions& options) {
  if (!usable({x})) return kNoTensor;
  const Shape& shape = graph_.tensor(x).shape;
  const std::int64_t channels = shape.size() == 4 ? shape[1] : 0;
  Op op;
  op.kind = OpKind::kConv2d;
  op.attributes = window_attributes(options.kernel, options.stride, options.padding);
  const std::int64_t fan_in = channels * options.kernel * options.kernel;
  op.inputs = {x, add_weight("weight", {options.out_channels, channels, options.kernel, options.kernel}, fan_in)};
  if (options.bias) op.inputs.push_back(add_parameter("bias", {options.out_channels}, {}));
  return add_op(std::move(op), {{}});
}

TensorId GraphBuilder::batch_norm(TensorId x, bool relu) {
  if (!usable({x})) return kNoTensor;
  const Shape& shape = graph_.tensor(x).shape;
  const Shape per_channel = {2, shape.size() == 4 ? shape[1] : 0};
  Init scale_shift;
  scale_shift.kind = Init::Kind::kScaleShift;
  Init statistics;
  statistics.kind = Init::Kind::kRunningStats;
  Op op;
  op.kind = OpKind::kBatchNorm;
  op.attributes.relu = relu;
  op.attributes.epsilon = kBatchNormEpsilon;
  op.attributes.momentum = kRunningMomentum;
  const TensorId running = add_parameter("bn.running", per_channel, statistics, Role::kBuffer);
  op.inputs = {x, add_parameter("bn.scale_shift", per_channel, scale_shift), running};
  const TensorId y = add_op(std::move(op), {{}, {.name = ".stats"}});
  if (y == kNoTensor) return kNoTensor;
  Op& added = graph_.op(graph_.op_count() - 1);
  added.outputs.push_back(running);
  if (relu) {
    Tensor mask{.name = added.name + ".mask", .shape = graph_.tensor(x).shape, .dtype = DType::kU8, .init = {}};
    added.outputs.push_back(graph_.add_tensor(std::move(mask)));
  }
  return y;
}

TensorId GraphBuilder::relu(TensorId x) {
  if (!usable({x})) return kNoTensor;
  Op op;
  op.kind = OpKind::kRelu;
  op.inputs = {x};
  return add_op(std::move(op), {{}});
}

TensorId GraphBuilder::add(TensorId a, TensorId b, bool relu) {
  if (!usable({a, b})) return kNoTensor;
  Op op;
  op.kind = OpKind::kAdd;
  op.attributes.relu = relu;
  op.inputs = {a, b};
  return add_op(std::move(op), {{}});
}

TensorId GraphBuilder::max_pool(TensorId x, const MaxPoolOptions& options) {
  if (!usable({x})) return kNoTensor;
  Op op;
  op.kind = OpKind::kMaxPool;
  op.attributes = window_attributes(options.kernel, options.stride, options.padding);
  op.inputs = {x};
  return add_op(std::move(op), {{}, {.name = ".index", .dtype = DType::kU8}});
}

TensorId GraphBuilder::global_avg_pool(TensorId x) {
  if (!usable({x})) return kNoTensor;
  const Shape& shape = graph_.tensor(x).shape;
  Op op;
  op.kind = OpKind::kAvgPool;
  op.attributes.kernel_h = shape.size() == 4 ? shape[2] : 0;
  op.attributes.kernel_w = shape.size() == 4 ? shape[3] : 0;
  op.inputs = {x};
  return add_op(std::move(op), {{}});
}

TensorId GraphBuilder::dense(TensorId x, std::int64_t out_features, bool bias) {
  if (!usable({x})) return kNoTensor;
  const Shape& shape = graph_.tensor(x).shape;
  const std::int64_t in_features = element_count(shape) / shape.front();
  Op op;
  op.kind = OpKind::kDense;
  op.inputs = {x, add_weight("weight", {out_features, in_features}, in_features)};
  if (bias) op.inputs.push_back(add_parameter("bias", {out_features}, {}));
  return add_op(std::move(op), {{}});
}

TensorId GraphBuilder::softmax_cross_entropy(TensorId logits) {
  if (!usable({logits})) return kNoTensor;
  if (!labels_ || has_loss_) {
    fail("softmax_cross_entropy: expects an input op before it, and one loss");
    return kNoTensor;
  }
  Op op;
  op.kind = OpKind::kSoftmaxCrossEntropy;
  op.inputs = {logits, *labels_};
  has_loss_ = true;
  return add_op(std::move(op), {{.name = ".loss", .role = Role::kOutput}, {.name = ".probabilities"}});
}

Result<Graph> GraphBuilder::finish() {
  if (error_) return *error_;
  if (!has_loss_) return Error{ErrorCode::kBadInput, fmt::format("graph '{}' has no loss", graph_.name)};
  return std::move(graph_);
}

}  // namespace sluice
