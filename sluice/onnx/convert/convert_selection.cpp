// Ops that select, join, pad or reduce elements: of tensors, and of weights, where the expression remembers it.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/convert/converters.hpp"

namespace sluice {
namespace {

using Kind = Value::Kind;

Status convert_concat(Node& node) {
  SLUICE_ASSIGN(const Shape first, node.shape(0));
  SLUICE_ASSIGN(const std::int64_t axis, positive_axis(node.attributes.integer("axis", 0), first.size()));
  std::vector<Weights> weights;
  for (int i = 0; i < node.inputs(); ++i) {
    SLUICE_ASSIGN(Shape shape, node.shape(i));
    if (shape.size() == first.size()) shape[as_index(axis)] = first[as_index(axis)];
    if (shape != first) return node.error(fmt::format("joins {} and another shape as input {}", to_string(first), i));
    if (node.is_weights(i)) weights.push_back(node.value(i).weights);
  }
  if (weights.size() == static_cast<std::size_t>(node.inputs())) {
    node.set(weights_value(joined_weights(weights, axis)));
    return {};
  }
  std::vector<TensorId> parts;
  for (int i = 0; i < node.inputs(); ++i) {
    SLUICE_ASSIGN(const TensorId part, node.tensor(i));
    parts.push_back(part);
  }
  Attributes attributes;
  attributes.axis = axis;
  if (parts.size() == 1) {
    node.set(parts.front());
    return {};
  }
  SLUICE_ASSIGN(const TensorId joined, node.add(OpKind::kConcat, attributes, parts));
  node.set(joined);
  return {};
}

// A part of input 0 along one axis, as output `output`. Parts that depend on the step's sizes are cut from the whole
// parameter, so that its name and training do not depend on them.
Status set_part(Node& node, const Value& x, std::int64_t axis, std::int64_t begin, std::int64_t end, bool literal,
                int output = 0) {
  if (x.kind == Kind::kWeights && literal) {
    node.set(weights_value(sliced_weights(x.weights, axis, begin, end)), output);
    return {};
  }
  SLUICE_ASSIGN(const TensorId tensor, node.conversion.tensor(x, node.name()));
  const bool whole = begin == 0 && end == node.builder.shape(tensor)[as_index(axis)];
  node.set(whole ? tensor : node.builder.slice(tensor, axis, begin, end), output);
  return {};
}

struct SliceBounds {
  std::vector<std::int64_t> starts, ends, axes, steps;
  bool literal = true;
};

Result<SliceBounds> slice_bounds(Node& node, std::size_t rank) {
  SliceBounds bounds;
  if (node.opset() < 10) {
    bounds.starts = node.attributes.integers("starts").value_or(std::vector<std::int64_t>{});
    bounds.ends = node.attributes.integers("ends").value_or(std::vector<std::int64_t>{});
    bounds.axes = node.attributes.integers("axes").value_or(std::vector<std::int64_t>{});
  } else {
    for (int i = 1; i <= 4; ++i) {
      if (!node.has(i)) continue;
      SLUICE_ASSIGN(const HostArray given, node.array(i));
      if (!given.is_integer) return node.error(fmt::format("needs integers as input {}", i));
      bounds.literal = bounds.literal && !given.from_shape;
      (i == 1 ? bounds.starts : i == 2 ? bounds.ends : i == 3 ? bounds.axes : bounds.steps) = given.ints;
    }
  }
  const std::size_t count = bounds.starts.size();
  if (bounds.axes.empty()) {
    bounds.axes.resize(count);
    std::iota(bounds.axes.begin(), bounds.axes.end(), 0);
  }
  if (bounds.steps.empty()) bounds.steps.assign(count, 1);
  if (count == 0 || count > rank || bounds.ends.size() != count || bounds.axes.size() != count ||
      bounds.steps.size() != count) {
    return node.error("needs as many starts as ends, axes and steps");
  }
  return bounds;
}

std::int64_t clamped(std::int64_t position, std::int64_t extent) {
  if (position < 0) position += extent;
  return std::clamp<std::int64_t>(position, 0, extent);
}

Status convert_slice(Node& node) {
  SLUICE_ASSIGN(const Shape shape, node.shape(0));
  SLUICE_ASSIGN(const SliceBounds bounds, slice_bounds(node, shape.size()));
  Value x = node.value(0);
  for (std::size_t i = 0; i < bounds.starts.size(); ++i) {
    SLUICE_ASSIGN(const std::int64_t axis, positive_axis(bounds.axes[i], shape.size()));
    const std::int64_t begin = clamped(bounds.starts[i], shape[as_index(axis)]);
    const std::int64_t end = clamped(bounds.ends[i], shape[as_index(axis)]);
    if (bounds.steps[i] != 1)
      return node.error(fmt::format("takes every {}th element; it must take all", bounds.steps[i]));
    if (begin >= end) {
      return node.error(fmt::format("takes nothing: {} to {} of {}", begin, end, shape[as_index(axis)]));
    }
    SLUICE_RETURN_IF_ERROR(set_part(node, x, axis, begin, end, bounds.literal));
    x = node.conversion.value(node.proto.output(0));
    if (node.builder.failed()) return {};
  }
  return {};
}

Status convert_split(Node& node) {
  SLUICE_ASSIGN(const Shape shape, node.shape(0));
  SLUICE_ASSIGN(const std::int64_t axis, positive_axis(node.attributes.integer("axis", 0), shape.size()));
  std::vector<std::int64_t> sizes = node.attributes.integers("split").value_or(std::vector<std::int64_t>{});
  if (node.has(1)) {
    SLUICE_ASSIGN(sizes, node.integers(1));
  }
  const auto outputs = static_cast<std::int64_t>(node.proto.output_size());
  if (sizes.empty()) sizes.assign(as_index(outputs), shape[as_index(axis)] / std::max<std::int64_t>(outputs, 1));
  std::int64_t at = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1 || sizes[i] > shape[as_index(axis)] - at) return node.error("splits into sizes that do not fit");
    const Value x = node.value(0);
    SLUICE_RETURN_IF_ERROR(set_part(node, x, axis, at, at + sizes[i], true, static_cast<int>(i)));
    at += sizes[i];
  }
  if (at != shape[as_index(axis)] || sizes.size() != as_index(outputs))
    return node.error("splits into sizes that do not fit");
  return {};
}

// Zeros around an image, which the convolution or pooling that reads it adds itself; or as ops.
Status convert_pad(Node& node) {
  SLUICE_ASSIGN(const Shape x, node.shape(0));
  if (node.attributes.text("mode", "constant") != "constant")
    return node.error("needs the attribute mode to be constant");
  std::vector<std::int64_t> pads = node.attributes.integers("pads").value_or(std::vector<std::int64_t>{});
  float number = node.attributes.real("value", 0);
  if (node.has(1)) {
    SLUICE_ASSIGN(pads, node.integers(1));
  }
  if (node.has(2)) {
    SLUICE_ASSIGN(const HostArray given, node.array(2));
    number = given.count() == 1 ? static_cast<float>(given.at(0)) : 1.0F;
  }
  const bool in_range = std::all_of(pads.begin(), pads.end(), [](auto pad) { return pad >= 0 && pad <= (1 << 20); });
  if (number != 0 || !in_range || pads.size() != 2 * x.size()) return node.error("must pad with zeros, outwards");
  Value value = node.value(0);
  SLUICE_ASSIGN(value.tensor, node.tensor(0));
  value = tensor_value(value.tensor);
  const bool image = x.size() == 4 && pads[0] + pads[1] + pads[4] + pads[5] == 0;
  if (!image) return node.error(fmt::format("must pad the height and width of images, got {}", to_string(x)));
  value.padding = {pads[2], pads[3], pads[6], pads[7]};
  const bool left_to_reader = node.only_reader("AveragePool") != nullptr || node.only_reader("Conv") != nullptr;
  if (left_to_reader) {
    node.set(value);
    return {};
  }
  SLUICE_ASSIGN(const TensorId padded, node.conversion.tensor(value, node.name()));
  node.set(padded);
  return {};
}

Result<std::vector<std::int64_t>> reduced_axes(Node& node, std::size_t rank, bool axes_are_input) {
  std::vector<std::int64_t> stated = node.attributes.integers("axes").value_or(std::vector<std::int64_t>{});
  if (axes_are_input && node.has(1)) {
    SLUICE_ASSIGN(stated, node.integers(1));
  }
  std::vector<std::int64_t> axes;
  for (const std::int64_t axis : stated) {
    SLUICE_ASSIGN(const std::int64_t positive, positive_axis(axis, rank));
    axes.push_back(positive);
  }
  if (axes.empty()) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

Status convert_reduce(Node& node, ReduceFunction function, bool axes_are_input) {
  SLUICE_ASSIGN(const TensorId x, node.tensor(0));
  const Shape shape = node.builder.shape(x);
  SLUICE_ASSIGN(const std::vector<std::int64_t> axes, reduced_axes(node, shape.size(), axes_are_input));
  const bool keep = node.attributes.integer("keepdims", 1) != 0;
  node.attributes.ignore("noop_with_empty_axes");
  const bool pools = function == ReduceFunction::kMean && shape.size() == 4 && axes == std::vector<std::int64_t>{2, 3};
  const TensorId y = pools ? node.builder.global_avg_pool(x) : node.builder.reduce(x, function, axes);
  if (keep) {
    node.set(y);
    return {};
  }
  Shape kept;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(d))) kept.push_back(shape[d]);
  }
  node.set(node.builder.reshape(y, kept.empty() ? Shape{1} : kept));
  return {};
}

Status convert_reduce_mean(Node& node) { return convert_reduce(node, ReduceFunction::kMean, false); }
Status convert_reduce_sum(Node& node) { return convert_reduce(node, ReduceFunction::kSum, node.opset() >= 13); }

}  // namespace

void add_selection_converters(ConverterTable& table) {
  table["Concat"] = convert_concat;
  table["Slice"] = convert_slice;
  table["Split"] = convert_split;
  table["Pad"] = convert_pad;
  table["ReduceMean"] = convert_reduce_mean;
  table["ReduceSum"] = convert_reduce_sum;
}

}  // namespace sluice
