// Norms, dropout and softmax.
#include <fmt/format.h>

#include <array>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/convert/tensor_ops.hpp"

namespace sluice::onnx {
namespace {

// Two vectors of C as one [2, C].
Weights stacked(const Weights& first, const Weights& second) {
  const std::int64_t channels = first->shape[0];
  return joined_weights({reshaped_weights(first, {1, channels}), reshaped_weights(second, {1, channels})}, 0);
}

Result<Weights> stacked_inputs(Node& node, int first, int second) {
  SLUICE_ASSIGN(const Weights a, node.weights(first, 1));
  SLUICE_ASSIGN(const Weights b, node.weights(second, 1));
  if (a->shape != b->shape) {
    return node.error(fmt::format("has inputs {} and {} of different shapes: {} and {}", first, second,
                                  graph::to_string(a->shape), graph::to_string(b->shape)));
  }
  return stacked(a, b);
}

// Batch norms of op.hpp are of images: others are images of another form.
Result<graph::Shape> as_image(const Node& node, const graph::Shape& shape) {
  if (shape.size() == 4) return shape;
  if (shape.size() == 2) return graph::Shape{shape[0], shape[1], 1, 1};
  if (shape.size() == 3) return graph::Shape{shape[0], shape[1], 1, shape[2]};
  if (shape.size() == 5) return graph::Shape{shape[0], shape[1], shape[2], shape[3] * shape[4]};
  return node.error(fmt::format("needs x of 2 to 5 dimensions, got {}", graph::to_string(shape)));
}

// The running statistics behind the step, where other nodes read them. x [N, C, H, W].
Status set_running_statistics(Node& node, graph::TensorId x, float kept) {
  const auto is_read = [&](int output) {
    return output < node.proto.output_size() && node.conversion.is_read(node.proto.output(output));
  };
  if (node.builder.failed() || (!is_read(1) && !is_read(2))) return {};
  const std::vector<std::int64_t> axes = {0, 2, 3};
  const graph::TensorId mean = reduce_over(node, graph::ReduceFunction::kMean, x, axes);
  SLUICE_ASSIGN(const graph::TensorId centred, combine(node, graph::BinaryFunction::kSubtract, x, mean));
  SLUICE_ASSIGN(const graph::TensorId squares, combine(node, graph::BinaryFunction::kMultiply, centred, centred));
  const graph::TensorId variance = reduce_over(node, graph::ReduceFunction::kMean, squares, axes);
  for (const auto& [now, output] : {std::pair(mean, 1), std::pair(variance, 2)}) {
    SLUICE_ASSIGN(const graph::TensorId before, node.tensor(output + 2));
    const graph::TensorId part = affine(node, reshape_to(node, now, node.builder.shape(before)), 1 - kept, 0);
    SLUICE_ASSIGN(const graph::TensorId next,
                  combine(node, graph::BinaryFunction::kAdd, affine(node, before, kept, 0), part));
    node.set(next, output);
  }
  return {};
}

// x a + b by channels, with a = scale / sqrt(variance + epsilon) and b = shift - mean a: scale and shift may be trained, the
// statistics stay.
Status convert_fixed_batch_norm(Node& node, graph::TensorId x) {
  graph::Shape along(node.builder.shape(x).size(), 1);
  std::array<graph::TensorId, 5> by_channel = {x};  // as the node's inputs: scale, shift, mean, variance
  for (int input = 1; input <= 4; ++input) {
    SLUICE_ASSIGN(const graph::TensorId given, node.tensor(input));
    along.at(1) = graph::element_count(node.builder.shape(given));
    by_channel.at(as_index(input)) = reshape_to(node, given, along);
  }
  const auto& [_, scale, shift, mean, variance] = by_channel;
  const float epsilon = node.attributes.real("epsilon", 1e-5F);
  const graph::TensorId inverse = apply(node, graph::UnaryFunction::kPower, affine(node, variance, 1, epsilon), -0.5F);
  SLUICE_ASSIGN(const graph::TensorId a, combine(node, graph::BinaryFunction::kMultiply, scale, inverse));
  SLUICE_ASSIGN(const graph::TensorId moved, combine(node, graph::BinaryFunction::kMultiply, mean, a));
  SLUICE_ASSIGN(const graph::TensorId b, combine(node, graph::BinaryFunction::kSubtract, shift, moved));
  SLUICE_ASSIGN(const graph::TensorId scaled, combine(node, graph::BinaryFunction::kMultiply, x, a));
  SLUICE_ASSIGN(const graph::TensorId y, combine(node, graph::BinaryFunction::kAdd, scaled, b));
  node.set(y);
  return {};
}

Status convert_batch_norm(Node& node) {
  SLUICE_ASSIGN(graph::TensorId x, node.tensor(0));
  const graph::Shape shape = node.builder.shape(x);
  SLUICE_ASSIGN(const graph::Shape image, as_image(node, shape));
  SLUICE_ASSIGN(const Weights scale_shift, stacked_inputs(node, 1, 2));
  SLUICE_ASSIGN(const Weights running, stacked_inputs(node, 3, 4));
  const std::string name = norm_name(node.proto.input(1));
  graph::NormAttributes attributes;
  attributes.epsilon = node.attributes.real("epsilon", 1e-5F);
  attributes.momentum = 1 - node.attributes.real("momentum", 0.9F);
  if (node.attributes.integer("spatial", 1) != 1) return node.error("needs the attribute spatial to be 1");
  const bool trains = node.attributes.integer("training_mode", 0) != 0;
  if (node.conversion.as_stated && !trains) return convert_fixed_batch_norm(node, x);
  SLUICE_ASSIGN(const graph::TensorId parameter, node.conversion.parameter(scale_shift, name + ".scale_shift"));
  SLUICE_ASSIGN(const graph::TensorId statistics,
                node.conversion.parameter(running, name + ".running", graph::Role::kBuffer));
  if (node.conversion.as_stated && image[0] * image[2] * image[3] == 1) return node.error(kOneValue);
  if (shape != image) x = node.builder.reshape(x, image);
  attributes.activation = node.absorb_activation();
  const bool applies = node.conversion.infers && !trains;
  const graph::OpKind kind = applies ? graph::OpKind::kBatchNormApply : graph::OpKind::kBatchNorm;
  if (applies) attributes.momentum = 0;
  graph::TensorId y = node.builder.add(kind, attributes, {x, parameter, statistics});
  if (shape != image && !node.builder.failed()) y = node.builder.reshape(y, shape);
  node.set(y);
  return applies ? Status() : set_running_statistics(node, x, 1 - static_cast<float>(attributes.momentum));
}

Status convert_response_norm(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  const float alpha = node.attributes.real("alpha", 1e-4F);
  const float beta = node.attributes.real("beta", 0.75F);
  const float bias = node.attributes.real("bias", 1);
  const std::int64_t size = node.attributes.integer("size", 0);
  if (size < 1 || size > (1 << 20)) return node.error("needs the attribute size to be at least 1");
  node.set(node.builder.local_response_norm(x, size, alpha, beta, bias));
  return {};
}

// Exported for inference or for training: what is imported is trained, so values are dropped at the node's ratio.
Status convert_dropout(Node& node) {
  const Value x = node.value(0);
  float ratio = node.attributes.real("ratio", 0.5F);
  node.attributes.ignore("seed");
  if (node.has(1)) {
    SLUICE_ASSIGN(const HostArray given, node.array(1));
    if (given.count() != 1) return node.error("needs one number as its ratio");
    ratio = static_cast<float>(given.at(0));
  }
  if (!(ratio >= 0 && ratio < 1)) return node.error(fmt::format("has the ratio {}; it must be in [0, 1)", ratio));
  bool drops = !node.conversion.infers;
  if (node.conversion.infers && node.has(2)) {
    SLUICE_ASSIGN(const HostArray training, node.array(2));
    drops = training.count() == 1 && training.at(0) != 0 && ratio > 0;
  }
  const bool mask = node.proto.output_size() > 1 && node.conversion.is_read(node.proto.output(1));
  if (mask && drops) return node.error("has its mask read by other nodes");
  if (mask) {
    SLUICE_ASSIGN(const graph::Shape shape, node.shape(0));
    if (!checked_count(shape, kMostArrayElements)) return node.error("has a very large mask read by other nodes");
    node.set(array_value(filled(shape, std::int64_t{1})), 1);
  }
  if (!drops || ratio == 0) {
    node.set(x);
    return {};
  }
  SLUICE_ASSIGN(const graph::TensorId tensor, node.tensor(0));
  node.set(node.builder.dropout(tensor, ratio));
  return {};
}

// Before opset 13, softmaxes are of the rows of x cut before `axis`.
graph::Shape matrix_cut_at(const graph::Shape& shape, std::int64_t axis) {
  graph::Shape matrix = {1, 1};
  for (std::size_t d = 0; d < shape.size(); ++d) matrix[as_id<std::int64_t>(d) < axis ? 0 : 1] *= shape[d];
  return matrix;
}

Status softmax_along(Node& node, graph::TensorId x, std::int64_t axis, bool causal) {
  graph::GraphBuilder& builder = node.builder;
  const graph::Shape shape = builder.shape(x);
  const auto last = std::ssize(shape) - 1;
  if (axis == last) {
    node.set(builder.softmax(x, 1, causal));
    return {};
  }
  if (causal) return node.error("masks causally along an axis that is not the last");
  if (node.opset() < 13) {
    const graph::TensorId y = builder.softmax(builder.reshape(x, matrix_cut_at(shape, axis)));
    node.set(builder.reshape(y, shape));
    return {};
  }
  std::vector<std::int64_t> swapped(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) swapped[d] = as_id<std::int64_t>(d);
  std::swap(swapped[as_index(axis)], swapped.back());
  node.set(builder.transpose(builder.softmax(builder.transpose(x, swapped)), swapped));
  return {};
}

Status convert_softmax(Node& node) {
  const bool causal = node.value(0).causal;
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  const std::int64_t stated = node.attributes.integer("axis", node.opset() < 13 ? 1 : -1);
  SLUICE_ASSIGN(const std::int64_t axis, positive_axis(stated, node.builder.shape(x).size()));
  return softmax_along(node, x, axis, causal);
}

Status convert_log_softmax(Node& node) {
  if (node.value(0).causal) return node.error("masks causally, which no logarithm shows");
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  if (node.builder.failed()) return {};
  const graph::Shape shape = node.builder.shape(x);
  const std::int64_t stated = node.attributes.integer("axis", node.opset() < 13 ? 1 : -1);
  SLUICE_ASSIGN(const std::int64_t axis, positive_axis(stated, shape.size()));
  const bool rows = node.opset() < 13;
  const graph::TensorId matrix = rows ? reshape_to(node, x, matrix_cut_at(shape, axis)) : x;
  SLUICE_ASSIGN(const graph::TensorId y, log_softmax_along(node, matrix, rows ? 1 : axis));
  node.set(rows ? reshape_to(node, y, shape) : y);
  return {};
}

}  // namespace

std::string norm_name(const std::string& scale) {
  for (const std::string suffix : {".weight", ".gamma", ".scale", "_gamma", "_scale"}) {
    if (scale.size() > suffix.size() && scale.ends_with(suffix)) return scale.substr(0, scale.size() - suffix.size());
  }
  return scale;
}

void add_norm_converters(ConverterTable& table) {
  table["BatchNormalization"] = convert_batch_norm;
  table["LRN"] = convert_response_norm;
  table["Dropout"] = convert_dropout;
  table["Softmax"] = convert_softmax;
  table["LogSoftmax"] = convert_log_softmax;
}

}  // namespace sluice::onnx
