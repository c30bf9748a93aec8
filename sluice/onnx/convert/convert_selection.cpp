// Ops that select or join elements: of tensors, and of weights, where the expression remembers it.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/convert/tensor_ops.hpp"

namespace sluice::onnx {
namespace {

using Kind = Value::Kind;

Status convert_concat(Node& node) {
  SLUICE_ASSIGN(const graph::Shape first, node.shape(0));
  SLUICE_ASSIGN(const std::int64_t axis, positive_axis(node.attributes.integer("axis", 0), first.size()));
  std::vector<Weights> weights;
  for (int i = 0; i < node.inputs(); ++i) {
    SLUICE_ASSIGN(graph::Shape shape, node.shape(i));
    if (shape.size() == first.size()) shape[as_index(axis)] = first[as_index(axis)];
    if (shape != first)
      return node.error(fmt::format("joins {} and another shape as input {}", graph::to_string(first), i));
    if (node.is_weights(i)) weights.push_back(node.value(i).weights);
  }
  if (weights.size() == as_index(node.inputs())) {
    node.set(weights_value(joined_weights(weights, axis)));
    return {};
  }
  std::vector<graph::TensorId> parts;
  for (int i = 0; i < node.inputs(); ++i) {
    SLUICE_ASSIGN(const graph::TensorId part, node.tensor(i));
    parts.push_back(part);
  }
  graph::ConcatAttributes attributes;
  attributes.axis = axis;
  if (parts.size() == 1) {
    node.set(parts.front());
    return {};
  }
  SLUICE_ASSIGN(const graph::TensorId joined, node.add(graph::OpKind::kConcat, attributes, parts));
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
  SLUICE_ASSIGN(const graph::TensorId tensor, node.conversion.tensor(x, node.name()));
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

// The places that a slice takes of `extent`, in its order.
std::vector<std::int64_t> places_of(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent) {
  const std::int64_t stride = std::clamp(step, -extent, extent);  // longer ones leave the axis as soon
  const auto counted = [&](std::int64_t position) { return position < 0 ? position + extent : position; };
  const std::int64_t first = std::clamp<std::int64_t>(counted(start), 0, step > 0 ? extent : extent - 1);
  const std::int64_t last = std::clamp<std::int64_t>(counted(end), step > 0 ? 0 : -1, extent);
  std::vector<std::int64_t> places;
  for (std::int64_t i = first; step > 0 ? i < last : i > last; i += stride) places.push_back(i);
  return places;
}

Status convert_slice(Node& node) {
  SLUICE_ASSIGN(const graph::Shape shape, node.shape(0));
  SLUICE_ASSIGN(const SliceBounds bounds, slice_bounds(node, shape.size()));
  Value x = node.value(0);
  for (std::size_t i = 0; i < bounds.starts.size(); ++i) {
    SLUICE_ASSIGN(const std::int64_t axis, positive_axis(bounds.axes[i], shape.size()));
    if (bounds.steps[i] == 0) return node.error("slices with a step of 0");
    if (bounds.steps[i] == 1) {
      const std::int64_t begin = clamped(bounds.starts[i], shape[as_index(axis)]);
      const std::int64_t end = clamped(bounds.ends[i], shape[as_index(axis)]);
      if (begin >= end) {
        return node.error(fmt::format("takes nothing: {} to {} of {}", begin, end, shape[as_index(axis)]));
      }
      SLUICE_RETURN_IF_ERROR(set_part(node, x, axis, begin, end, bounds.literal));
      x = node.conversion.value(node.proto.output(0));
      if (node.builder.failed()) return {};
      continue;
    }
    SLUICE_RETURN_IF_ERROR(check_terms(node, shape[as_index(axis)], 1));
    const auto places = places_of(bounds.starts[i], bounds.ends[i], bounds.steps[i], shape[as_index(axis)]);
    if (places.empty()) {
      return node.error(
          fmt::format("takes nothing: {} to {} of {}", bounds.starts[i], bounds.ends[i], shape[as_index(axis)]));
    }
    SLUICE_ASSIGN(const graph::TensorId tensor, node.conversion.tensor(x, node.name()));
    SLUICE_ASSIGN(const graph::TensorId taken, take_along(node, tensor, axis, places));
    node.set(taken);
    x = node.conversion.value(node.proto.output(0));
    if (node.builder.failed()) return {};
  }
  return {};
}

// Of one size, but that the last may be smaller.
std::vector<std::int64_t> equal_parts(std::int64_t extent, std::int64_t parts) {
  const std::int64_t size = (extent + parts - 1) / parts;
  std::vector<std::int64_t> sizes(as_index(parts), size);
  sizes.back() = extent - size * (parts - 1);
  return sizes;
}

Status convert_split(Node& node) {
  SLUICE_ASSIGN(const graph::Shape shape, node.shape(0));
  SLUICE_ASSIGN(const std::int64_t axis, positive_axis(node.attributes.integer("axis", 0), shape.size()));
  std::vector<std::int64_t> sizes = node.attributes.integers("split").value_or(std::vector<std::int64_t>{});
  if (node.has(1)) {
    SLUICE_ASSIGN(sizes, node.integers(1));
  }
  const auto outputs = static_cast<std::int64_t>(node.proto.output_size());
  if (node.attributes.integer("num_outputs", outputs) != outputs)
    return node.error("has another num_outputs than outputs");
  if (sizes.empty()) sizes = equal_parts(shape[as_index(axis)], std::max<std::int64_t>(outputs, 1));
  std::int64_t at = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1 || sizes[i] > shape[as_index(axis)] - at) return node.error("splits into sizes that do not fit");
    const Value x = node.value(0);
    SLUICE_RETURN_IF_ERROR(set_part(node, x, axis, at, at + sizes[i], true, as_id<int>(i)));
    at += sizes[i];
  }
  if (at != shape[as_index(axis)] || sizes.size() != as_index(outputs))
    return node.error("splits into sizes that do not fit");
  return {};
}

}  // namespace

void add_selection_converters(ConverterTable& table) {
  table["Concat"] = convert_concat;
  table["Slice"] = convert_slice;
  table["Split"] = convert_split;
}

}  // namespace sluice::onnx
