// Norms by group, by instance, by root mean square, by length, and layer norms over several dimensions.
//
// A group is a row: a layer norm of ones and zeros normalises it, and what scales and shifts comes behind, by channel.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/convert/tensor_ops.hpp"

namespace sluice::onnx {
namespace {

// x [rows, columns], each row with a mean of 0 and a variance of 1.
Result<graph::TensorId> normalised_rows(Node& node, graph::TensorId x, float epsilon) {
  if (node.builder.failed()) return graph::TensorId{-1};
  const std::int64_t columns = node.builder.shape(x).back();
  if (columns > kMostArrayElements / 2) return node.error("normalises very long rows");
  HostArray ones_and_zeros = filled(graph::Shape{2, columns}, 0.0F);
  std::fill_n(ones_and_zeros.floats.begin(), columns, 1.0F);
  SLUICE_ASSIGN(const graph::TensorId scale_shift, constant(node, std::move(ones_and_zeros), ".unit_scale_shift"));
  graph::NormAttributes attributes;
  attributes.epsilon = epsilon;
  return node.add(graph::OpKind::kLayerNorm, attributes, {x, scale_shift});
}

// Input `input`, one value a channel, as [C, 1, 1, ...] for x of `rank` dimensions.
Result<graph::TensorId> by_channel(Node& node, int input, std::size_t rank) {
  SLUICE_ASSIGN(const graph::TensorId values, node.tensor(input));
  if (node.builder.failed()) return values;
  graph::Shape shape(rank - 1, 1);
  shape[0] = graph::element_count(node.builder.shape(values));
  return reshape_to(node, values, shape);
}

// y * input 1 + input 2, by channel; groups' values are repeated for their channels where `repeats` is above 1.
Result<graph::TensorId> scaled_and_shifted(Node& node, graph::TensorId y, std::int64_t repeats) {
  const std::size_t rank = node.builder.shape(y).size();
  graph::TensorId factors[2] = {-1, -1};
  for (int i = 0; i < 2; ++i) {
    SLUICE_ASSIGN(factors[i], by_channel(node, i + 1, rank));
    if (repeats == 1) continue;
    std::vector<std::int64_t> groups;
    const std::int64_t count = node.builder.shape(factors[i])[0];
    for (std::int64_t channel = 0; channel < count * repeats; ++channel) groups.push_back(channel / repeats);
    SLUICE_ASSIGN(factors[i], take_along(node, factors[i], 0, groups));
  }
  SLUICE_ASSIGN(const graph::TensorId scaled, combine(node, graph::BinaryFunction::kMultiply, y, factors[0]));
  return combine(node, graph::BinaryFunction::kAdd, scaled, factors[1]);
}

Status normalise_groups(Node& node, std::int64_t groups, bool values_by_group) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  if (node.builder.failed()) return {};
  const graph::Shape shape = node.builder.shape(x);
  if (shape.size() < 3) return node.error(fmt::format("needs x [N, C, ...], got {}", graph::to_string(shape)));
  if (groups == 0) groups = shape[1];
  if (groups < 1 || shape[1] % groups != 0) return node.error(fmt::format("has {} groups of {}", groups, shape[1]));
  if (node.conversion.as_stated && graph::element_count(shape) == groups) return node.error(kOneValue);
  const float epsilon = node.attributes.real("epsilon", 1e-5F);
  const graph::TensorId rows =
      reshape_to(node, x, {shape[0] * groups, graph::element_count(shape) / (shape[0] * groups)});
  SLUICE_ASSIGN(const graph::TensorId normalised, normalised_rows(node, rows, epsilon));
  if (node.builder.failed()) return {};
  SLUICE_ASSIGN(const graph::TensorId y,
                scaled_and_shifted(node, reshape_to(node, normalised, shape), values_by_group ? shape[1] / groups : 1));
  node.set(y);
  return {};
}

Status convert_instance_norm(Node& node) { return normalise_groups(node, 0, false); }

// Scales and shifts are the groups' up to opset 20, then the channels'.
Status convert_group_norm(Node& node) {
  if (node.attributes.integer("stash_type", 1) != 1) return node.error("needs the attribute stash_type to be 1");
  const std::int64_t groups = node.attributes.integer("num_groups", 0);
  if (groups < 1) return node.error("needs the attribute num_groups");
  SLUICE_ASSIGN(const graph::Shape scale, node.shape(1));
  return normalise_groups(node, groups, node.opset() < 21 && graph::element_count(scale) == groups);
}

Status convert_mean_variance_norm(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  if (node.builder.failed()) return {};
  std::vector<std::int64_t> axes;
  for (const std::int64_t stated : node.attributes.integers("axes").value_or(std::vector<std::int64_t>{0, 2, 3})) {
    SLUICE_ASSIGN(const std::int64_t axis, positive_axis(stated, node.builder.shape(x).size()));
    axes.push_back(axis);
  }
  std::sort(axes.begin(), axes.end());
  const graph::TensorId mean = reduce_over(node, graph::ReduceFunction::kMean, x, axes);
  SLUICE_ASSIGN(const graph::TensorId centred, combine(node, graph::BinaryFunction::kSubtract, x, mean));
  SLUICE_ASSIGN(const graph::TensorId squares, combine(node, graph::BinaryFunction::kMultiply, centred, centred));
  const graph::TensorId variance = reduce_over(node, graph::ReduceFunction::kMean, squares, axes);
  SLUICE_ASSIGN(const graph::TensorId root, root_of(node, variance));
  const graph::TensorId deviation = affine(node, root, 1, 1e-9F);
  SLUICE_ASSIGN(const graph::TensorId y, combine(node, graph::BinaryFunction::kDivide, centred, deviation));
  node.set(y);
  return {};
}

// x / sqrt(mean of squares + epsilon) * scale, over the dimensions from `axis` on.
Status convert_rms_norm(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  if (node.builder.failed()) return {};
  const std::size_t rank = node.builder.shape(x).size();
  SLUICE_ASSIGN(const std::int64_t first, positive_axis(node.attributes.integer("axis", -1), rank));
  if (node.attributes.integer("stash_type", 1) != 1) return node.error("needs the attribute stash_type to be 1");
  std::vector<std::int64_t> axes(rank - as_index(first));
  std::iota(axes.begin(), axes.end(), first);
  SLUICE_ASSIGN(const graph::TensorId squares, combine(node, graph::BinaryFunction::kMultiply, x, x));
  const graph::TensorId mean = reduce_over(node, graph::ReduceFunction::kMean, squares, axes);
  const float epsilon = node.attributes.real("epsilon", 1e-5F);
  const graph::TensorId inverse = apply(node, graph::UnaryFunction::kPower, affine(node, mean, 1, epsilon), -0.5F);
  SLUICE_ASSIGN(const graph::TensorId normalised, combine(node, graph::BinaryFunction::kMultiply, x, inverse));
  SLUICE_ASSIGN(const graph::TensorId scale, node.tensor(1));
  SLUICE_ASSIGN(const graph::TensorId y, combine(node, graph::BinaryFunction::kMultiply, normalised, scale));
  node.set(y);
  return {};
}

// Rows of length 0 stay 0.
Status convert_length_norm(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  if (node.builder.failed()) return {};
  SLUICE_ASSIGN(const std::int64_t axis,
                positive_axis(node.attributes.integer("axis", -1), node.builder.shape(x).size()));
  const std::int64_t p = node.attributes.integer("p", 2);
  if (p != 1 && p != 2) return node.error(fmt::format("has a norm of {}; it must be 1 or 2", p));
  graph::TensorId powers = apply(node, graph::UnaryFunction::kAbs, x);
  if (p == 2) {
    SLUICE_ASSIGN(powers, combine(node, graph::BinaryFunction::kMultiply, x, x));
  }
  graph::TensorId length = reduce_over(node, graph::ReduceFunction::kSum, powers, {axis});
  if (p == 2) {
    SLUICE_ASSIGN(length, root_of(node, length));
  }
  SLUICE_ASSIGN(const graph::TensorId one, constant(node, filled(graph::Shape{1}, 1.0F), ".one"));
  SLUICE_ASSIGN(const graph::TensorId zero, constant(node, filled(graph::Shape{1}, 0.0F), ".zero"));
  SLUICE_ASSIGN(const graph::TensorId divisor, select(node, length, length, one));
  SLUICE_ASSIGN(const graph::TensorId unit, combine(node, graph::BinaryFunction::kDivide, x, divisor));
  SLUICE_ASSIGN(const graph::TensorId y, select(node, length, unit, zero));
  node.set(y);
  return {};
}

// The means and inverse deviations of rows, where other nodes read them.
Status set_statistics(Node& node, graph::TensorId rows, const graph::Shape& shape, float epsilon) {
  const auto is_read = [&](int output) {
    return output < node.proto.output_size() && node.conversion.is_read(node.proto.output(output));
  };
  if (!is_read(1) && !is_read(2)) return {};
  const graph::TensorId mean = reduce_over(node, graph::ReduceFunction::kMean, rows, {1});
  node.set(reshape_to(node, mean, shape), 1);
  SLUICE_ASSIGN(const graph::TensorId centred, combine(node, graph::BinaryFunction::kSubtract, rows, mean));
  SLUICE_ASSIGN(const graph::TensorId squares, combine(node, graph::BinaryFunction::kMultiply, centred, centred));
  const graph::TensorId variance = reduce_over(node, graph::ReduceFunction::kMean, squares, {1});
  const graph::TensorId inverse = apply(node, graph::UnaryFunction::kPower, affine(node, variance, 1, epsilon), -0.5F);
  node.set(reshape_to(node, inverse, shape), 2);
  return {};
}

// [2, C] of weights over the normalised dimensions; null where one is no weight.
Weights layer_scale_shift(Node& node, std::size_t dimensions, std::int64_t columns) {
  const auto scale = node.weights(1, dimensions);
  if (!scale.ok() || graph::element_count((*scale)->shape) != columns) return nullptr;
  Weights shift = literal_weights(std::vector<float>(as_index(columns), 0.0F), {columns});
  if (node.has(2)) {
    const auto given = node.weights(2, dimensions);
    if (!given.ok() || graph::element_count((*given)->shape) != columns) return nullptr;
    shift = *given;
  }
  return joined_weights({reshaped_weights(*scale, {1, columns}), reshaped_weights(shift, {1, columns})}, 0);
}

Result<graph::TensorId> layer_norm_of(Node& node, graph::TensorId x, const graph::Shape& shape, std::int64_t axis,
                                      float epsilon) {
  graph::Shape normalised(shape.begin() + axis, shape.end());
  const std::int64_t columns = graph::element_count(normalised);
  const bool last = normalised.size() == 1;
  const graph::TensorId rows = last ? x : reshape_to(node, x, {graph::element_count(shape) / columns, columns});
  if (const Weights scale_shift = layer_scale_shift(node, normalised.size(), columns)) {
    graph::NormAttributes attributes;
    attributes.epsilon = epsilon;
    const std::string name = norm_name(node.proto.input(1));
    SLUICE_ASSIGN(const graph::TensorId parameter, node.conversion.parameter(scale_shift, name + ".scale_shift"));
    SLUICE_ASSIGN(const graph::TensorId y, node.add(graph::OpKind::kLayerNorm, attributes, {rows, parameter}));
    return reshape_to(node, y, shape);
  }
  SLUICE_ASSIGN(const graph::TensorId unit, normalised_rows(node, rows, epsilon));
  SLUICE_ASSIGN(const graph::TensorId scale, node.tensor(1));
  SLUICE_ASSIGN(graph::TensorId y,
                combine(node, graph::BinaryFunction::kMultiply, reshape_to(node, unit, shape), scale));
  if (node.has(2)) {
    SLUICE_ASSIGN(const graph::TensorId shift, node.tensor(2));
    SLUICE_ASSIGN(y, combine(node, graph::BinaryFunction::kAdd, y, shift));
  }
  return y;
}

Status convert_layer_norm(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  if (node.builder.failed()) return {};
  const graph::Shape shape = node.builder.shape(x);
  SLUICE_ASSIGN(const std::int64_t axis, positive_axis(node.attributes.integer("axis", -1), shape.size()));
  if (node.attributes.integer("stash_type", 1) != 1) return node.error("needs the attribute stash_type to be 1");
  const float epsilon = node.attributes.real("epsilon", 1e-5F);
  SLUICE_ASSIGN(const graph::TensorId y, layer_norm_of(node, x, shape, axis, epsilon));
  node.set(y);
  if (node.builder.failed()) return {};
  graph::Shape statistics = shape;
  std::fill(statistics.begin() + axis, statistics.end(), 1);
  const std::int64_t rows = graph::element_count(statistics);
  return set_statistics(node, reshape_to(node, x, {rows, graph::element_count(shape) / rows}), statistics, epsilon);
}

}  // namespace

void add_other_norm_converters(ConverterTable& table) {
  table["LayerNormalization"] = convert_layer_norm;
  table["InstanceNormalization"] = convert_instance_norm;
  table["GroupNormalization"] = convert_group_norm;
  table["RMSNormalization"] = convert_rms_norm;
  table["MeanVarianceNormalization"] = convert_mean_variance_norm;
  table["LpNormalization"] = {convert_length_norm, "p of 1 and 2"};
}

}  // namespace sluice::onnx
