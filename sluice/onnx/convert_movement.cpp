// Ops that move or select elements: of tensors, and of weights, where the expression remembers it.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sluice/onnx/converters.hpp"

namespace sluice {
namespace {

using Kind = Value::Kind;

std::size_t slot(std::int64_t axis) { return static_cast<std::size_t>(axis); }

Status set_reshaped(Node& node, const Shape& shape) {
  const Value x = node.value(0);
  const auto count = checked_count(shape);
  SLUICE_ASSIGN(const Shape before, node.shape(0));
  if (!count || *count == 0 || *count != element_count(before)) {
    return node.error(
        fmt::format("cannot read {} as {}: the number of elements differs", to_string(before), to_string(shape)));
  }
  if (x.kind == Kind::kWeights) {
    node.set(weights_value(reshaped_weights(x.weights, shape)));
  } else if (before == shape && x.kind == Kind::kTensor) {
    node.set(x);
  } else {
    SLUICE_ASSIGN(const TensorId tensor, node.tensor(0));
    node.set(node.builder.reshape(tensor, shape));
  }
  return {};
}

// 0 keeps x's extent, -1 takes what is left. Nothing when the elements do not fit.
std::optional<Shape> completed(Shape target, const Shape& x, bool zero_is_zero) {
  std::int64_t known = 1;
  std::int64_t open = -1;
  for (std::size_t d = 0; d < target.size(); ++d) {
    if (target[d] == 0 && !zero_is_zero) {
      if (d >= x.size()) return std::nullopt;
      target[d] = x[d];
    }
    if (target[d] == -1 && open < 0) {
      open = static_cast<std::int64_t>(d);
    } else if (target[d] < 1 || target[d] > kMostElements / known) {
      return std::nullopt;
    } else {
      known *= target[d];
    }
  }
  const std::int64_t count = element_count(x);
  if (open >= 0) target[slot(open)] = count / known;
  return element_count(target) == count ? std::optional<Shape>(target) : std::nullopt;
}

// A file exported for one batch often has it as a literal in the target; another batch then takes its place.
Shape with_batch(const Conversion& conversion, const HostArray& given, const Shape& x, Shape target) {
  const bool other_batch = conversion.file_batch > 0 && conversion.file_batch != conversion.batch;
  if (given.from_shape || !other_batch || target.empty() || x.empty() || target[0] == -1) return target;
  if (x[0] % conversion.batch == 0 && target[0] % conversion.file_batch == 0 && target[0] > 0 && target[0] != x[0]) {
    target[0] = target[0] / conversion.file_batch * conversion.batch;
  }
  return target;
}

Status convert_reshape(Node& node) {
  SLUICE_ASSIGN(HostArray given, node.array(1));
  SLUICE_ASSIGN(const Shape x, node.shape(0));
  if (!given.is_integer) return node.error("needs integers as input 1");
  const bool zero_is_zero = node.attributes.integer("allowzero", 0) != 0;
  const bool moves = node.value(0).kind == Kind::kTensor;
  const Shape stated = given.ints;
  std::optional<Shape> shape;
  if (moves) shape = completed(with_batch(node.conversion, given, x, stated), x, zero_is_zero);
  if (!shape) shape = completed(stated, x, zero_is_zero);
  if (!shape) return node.error(fmt::format("cannot read {} as {}", to_string(x), to_string(stated)));
  return set_reshaped(node, *shape);
}

Status convert_flatten(Node& node) {
  SLUICE_ASSIGN(const Shape x, node.shape(0));
  const std::int64_t stated = node.attributes.integer("axis", 1);
  const auto rank = static_cast<std::int64_t>(x.size());
  if (stated < -rank || stated > rank) return node.error(fmt::format("has the axis {} for {}", stated, to_string(x)));
  const std::int64_t axis = stated < 0 ? stated + rank : stated;
  Shape y = {1, 1};
  for (std::int64_t d = 0; d < rank; ++d) y[d < axis ? 0 : 1] *= x[slot(d)];
  return set_reshaped(node, y);
}

// The axes of Squeeze and Unsqueeze: an attribute, from opset 13 on an input.
Result<std::optional<std::vector<std::int64_t>>> stated_axes(Node& node) {
  if (node.opset() < 13) return node.attributes.integers("axes");
  if (!node.has(1)) return std::optional<std::vector<std::int64_t>>();
  SLUICE_ASSIGN(std::vector<std::int64_t> axes, node.integers(1));
  return std::optional(std::move(axes));
}

Status convert_squeeze(Node& node) {
  SLUICE_ASSIGN(const Shape x, node.shape(0));
  SLUICE_ASSIGN(const auto axes, stated_axes(node));
  std::vector<bool> dropped(x.size());
  for (std::size_t d = 0; d < x.size() && !axes; ++d) dropped[d] = x[d] == 1;
  for (const std::int64_t stated : axes.value_or(std::vector<std::int64_t>{})) {
    SLUICE_ASSIGN(const std::int64_t axis, positive_axis(stated, x.size()));
    if (x[slot(axis)] != 1) return node.error(fmt::format("cannot drop axis {} of {}", axis, to_string(x)));
    dropped[slot(axis)] = true;
  }
  Shape y;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (!dropped[d]) y.push_back(x[d]);
  }
  return set_reshaped(node, y.empty() ? Shape{1} : y);
}

Status convert_unsqueeze(Node& node) {
  SLUICE_ASSIGN(const Shape x, node.shape(0));
  SLUICE_ASSIGN(const auto axes, stated_axes(node));
  if (!axes || axes->size() > 16) return node.error("needs the axes to add");
  const std::size_t rank = x.size() + axes->size();
  std::vector<bool> added(rank);
  for (const std::int64_t stated : *axes) {
    SLUICE_ASSIGN(const std::int64_t axis, positive_axis(stated, rank));
    if (added[slot(axis)]) return node.error(fmt::format("adds axis {} twice", axis));
    added[slot(axis)] = true;
  }
  Shape y;
  auto next = x.begin();
  for (std::size_t d = 0; d < rank; ++d) y.push_back(added[d] ? 1 : *next++);
  return set_reshaped(node, y);
}

Status convert_transpose(Node& node) {
  SLUICE_ASSIGN(const Shape x, node.shape(0));
  auto axes = node.attributes.integers("perm");
  if (!axes) {
    axes.emplace(x.size());
    std::iota(axes->rbegin(), axes->rend(), 0);
  }
  std::vector<std::int64_t> sorted = *axes;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t d = 0; d < sorted.size() || d < x.size(); ++d) {
    if (sorted.size() != x.size() || sorted[d] != static_cast<std::int64_t>(d)) {
      return node.error(fmt::format("has the perm {} for {}", to_string(*axes), to_string(x)));
    }
  }
  const Value value = node.value(0);
  if (value.kind == Kind::kWeights) {
    node.set(weights_value(transposed_weights(value.weights, *axes)));
    return {};
  }
  SLUICE_ASSIGN(const TensorId tensor, node.tensor(0));
  const bool moves = !std::is_sorted(axes->begin(), axes->end());
  node.set(moves ? node.builder.transpose(tensor, *axes) : tensor);
  return {};
}

Status convert_concat(Node& node) {
  SLUICE_ASSIGN(const Shape first, node.shape(0));
  SLUICE_ASSIGN(const std::int64_t axis, positive_axis(node.attributes.integer("axis", 0), first.size()));
  std::vector<Weights> weights;
  for (int i = 0; i < node.inputs(); ++i) {
    SLUICE_ASSIGN(Shape shape, node.shape(i));
    if (shape.size() == first.size()) shape[slot(axis)] = first[slot(axis)];
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
  const bool whole = begin == 0 && end == node.builder.shape(tensor)[slot(axis)];
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
    const std::int64_t begin = clamped(bounds.starts[i], shape[slot(axis)]);
    const std::int64_t end = clamped(bounds.ends[i], shape[slot(axis)]);
    if (bounds.steps[i] != 1)
      return node.error(fmt::format("takes every {}th element; it must take all", bounds.steps[i]));
    if (begin >= end) {
      return node.error(fmt::format("takes nothing: {} to {} of {}", begin, end, shape[slot(axis)]));
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
  if (sizes.empty()) sizes.assign(slot(outputs), shape[slot(axis)] / std::max<std::int64_t>(outputs, 1));
  std::int64_t at = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1 || sizes[i] > shape[slot(axis)] - at) return node.error("splits into sizes that do not fit");
    const Value x = node.value(0);
    SLUICE_RETURN_IF_ERROR(set_part(node, x, axis, at, at + sizes[i], true, static_cast<int>(i)));
    at += sizes[i];
  }
  if (at != shape[slot(axis)] || sizes.size() != slot(outputs)) return node.error("splits into sizes that do not fit");
  return {};
}

Status convert_expand(Node& node) {
  SLUICE_ASSIGN(const HostArray given, node.array(1));
  SLUICE_ASSIGN(const Shape x, node.shape(0));
  if (!given.is_integer || given.ints.size() > 16) return node.error("needs a shape as input 1");
  Shape y = given.ints;
  if (node.conversion.file_batch > 0 && !given.from_shape && !y.empty() && y[0] == node.conversion.file_batch) {
    y[0] = node.conversion.batch;
  }
  if (y.size() < x.size()) y.insert(y.begin(), x.size() - y.size(), 1);
  Shape from = x;
  from.insert(from.begin(), y.size() - x.size(), 1);
  for (std::size_t d = 0; d < y.size(); ++d) {
    if (y[d] == 1) y[d] = from[d];
  }
  if (checked_count(y).value_or(0) == 0) return node.error(fmt::format("grows to the impossible {}", to_string(y)));
  SLUICE_RETURN_IF_ERROR(set_reshaped(node, from));
  if (from == y) return {};
  SLUICE_ASSIGN(const TensorId tensor,
                node.conversion.tensor(node.conversion.value(node.proto.output(0)), node.name()));
  Attributes attributes;
  attributes.shape = y;
  SLUICE_ASSIGN(const TensorId grown, node.add(OpKind::kBroadcast, attributes, {tensor}));
  node.set(grown);
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

void add_movement_converters(ConverterTable& table) {
  table["Reshape"] = convert_reshape;
  table["Flatten"] = convert_flatten;
  table["Squeeze"] = convert_squeeze;
  table["Unsqueeze"] = convert_unsqueeze;
  table["Transpose"] = convert_transpose;
  table["Concat"] = convert_concat;
  table["Slice"] = convert_slice;
  table["Split"] = convert_split;
  table["Expand"] = convert_expand;
  table["Pad"] = convert_pad;
  table["ReduceMean"] = convert_reduce_mean;
  table["ReduceSum"] = convert_reduce_sum;
}

}  // namespace sluice
