// Ops that change a tensor's shape or the order of its elements; of weights the expression remembers it.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/convert/converters.hpp"

namespace sluice::onnx {
namespace {

using Kind = Value::Kind;

Status set_reshaped(Node& node, const graph::Shape& shape) {
  const Value x = node.value(0);
  const auto count = checked_count(shape);
  SLUICE_ASSIGN(const graph::Shape before, node.shape(0));
  if (!count || *count == 0 || *count != graph::element_count(before)) {
    return node.error(fmt::format("cannot read {} as {}: the number of elements differs", graph::to_string(before),
                                  graph::to_string(shape)));
  }
  if (x.kind == Kind::kWeights) {
    node.set(weights_value(reshaped_weights(x.weights, shape)));
  } else if (before == shape && x.kind == Kind::kTensor) {
    node.set(x);
  } else {
    SLUICE_ASSIGN(const graph::TensorId tensor, node.tensor(0));
    node.set(node.builder.reshape(tensor, shape));
  }
  return {};
}

// 0 keeps x's extent, -1 takes what is left. Nothing when the elements do not fit.
std::optional<graph::Shape> completed(graph::Shape target, const graph::Shape& x, bool zero_is_zero) {
  std::int64_t known = 1;
  std::int64_t open = -1;
  for (std::size_t d = 0; d < target.size(); ++d) {
    if (target[d] == 0 && !zero_is_zero) {
      if (d >= x.size()) return std::nullopt;
      target[d] = x[d];
    }
    if (target[d] == -1 && open < 0) {
      open = as_id<std::int64_t>(d);
    } else if (target[d] < 1 || target[d] > kMostElements / known) {
      return std::nullopt;
    } else {
      known *= target[d];
    }
  }
  const std::int64_t count = graph::element_count(x);
  if (open >= 0) target[as_index(open)] = count / known;
  return graph::element_count(target) == count ? std::optional<graph::Shape>(target) : std::nullopt;
}

// A file exported for one batch often has it as a literal in the target; another batch then takes its place.
graph::Shape with_batch(const Conversion& conversion, const HostArray& given, const graph::Shape& x,
                        graph::Shape target) {
  const bool other_batch = conversion.file_batch > 0 && conversion.file_batch != conversion.batch;
  if (given.from_shape || !other_batch || target.empty() || x.empty() || target[0] == -1) return target;
  if (x[0] % conversion.batch == 0 && target[0] % conversion.file_batch == 0 && target[0] > 0 && target[0] != x[0]) {
    target[0] = target[0] / conversion.file_batch * conversion.batch;
  }
  return target;
}

Status convert_reshape(Node& node) {
  SLUICE_ASSIGN(HostArray given, node.array(1));
  SLUICE_ASSIGN(const graph::Shape x, node.shape(0));
  if (!given.is_integer) return node.error("needs integers as input 1");
  const bool zero_is_zero = node.attributes.integer("allowzero", 0) != 0;
  const bool moves = node.value(0).kind == Kind::kTensor;
  const graph::Shape stated = given.ints;
  std::optional<graph::Shape> shape;
  if (moves) shape = completed(with_batch(node.conversion, given, x, stated), x, zero_is_zero);
  if (!shape) shape = completed(stated, x, zero_is_zero);
  if (!shape) return node.error(fmt::format("cannot read {} as {}", graph::to_string(x), graph::to_string(stated)));
  return set_reshaped(node, *shape);
}

Status convert_flatten(Node& node) {
  SLUICE_ASSIGN(const graph::Shape x, node.shape(0));
  const std::int64_t stated = node.attributes.integer("axis", 1);
  const auto rank = std::ssize(x);
  if (stated < -rank || stated > rank)
    return node.error(fmt::format("has the axis {} for {}", stated, graph::to_string(x)));
  const std::int64_t axis = stated < 0 ? stated + rank : stated;
  graph::Shape y = {1, 1};
  for (std::int64_t d = 0; d < rank; ++d) y[d < axis ? 0 : 1] *= x[as_index(d)];
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
  SLUICE_ASSIGN(const graph::Shape x, node.shape(0));
  SLUICE_ASSIGN(const auto axes, stated_axes(node));
  std::vector<bool> dropped(x.size());
  for (std::size_t d = 0; d < x.size() && !axes; ++d) dropped[d] = x[d] == 1;
  for (const std::int64_t stated : axes.value_or(std::vector<std::int64_t>{})) {
    SLUICE_ASSIGN(const std::int64_t axis, positive_axis(stated, x.size()));
    if (x[as_index(axis)] != 1) return node.error(fmt::format("cannot drop axis {} of {}", axis, graph::to_string(x)));
    dropped[as_index(axis)] = true;
  }
  graph::Shape y;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (!dropped[d]) y.push_back(x[d]);
  }
  return set_reshaped(node, y.empty() ? graph::Shape{1} : y);
}

Status convert_unsqueeze(Node& node) {
  SLUICE_ASSIGN(const graph::Shape x, node.shape(0));
  SLUICE_ASSIGN(const auto axes, stated_axes(node));
  if (!axes || axes->size() > 16) return node.error("needs the axes to add");
  const std::size_t rank = x.size() + axes->size();
  std::vector<bool> added(rank);
  for (const std::int64_t stated : *axes) {
    SLUICE_ASSIGN(const std::int64_t axis, positive_axis(stated, rank));
    if (added[as_index(axis)]) return node.error(fmt::format("adds axis {} twice", axis));
    added[as_index(axis)] = true;
  }
  graph::Shape y;
  auto next = x.begin();
  for (std::size_t d = 0; d < rank; ++d) y.push_back(added[d] ? 1 : *next++);
  return set_reshaped(node, y);
}

Status convert_transpose(Node& node) {
  SLUICE_ASSIGN(const graph::Shape x, node.shape(0));
  auto axes = node.attributes.integers("perm");
  if (!axes) {
    axes.emplace(x.size());
    std::iota(axes->rbegin(), axes->rend(), 0);
  }
  std::vector<std::int64_t> sorted = *axes;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t d = 0; d < sorted.size() || d < x.size(); ++d) {
    if (sorted.size() != x.size() || sorted[d] != as_id<std::int64_t>(d)) {
      return node.error(fmt::format("has the perm {} for {}", graph::to_string(*axes), graph::to_string(x)));
    }
  }
  const Value value = node.value(0);
  if (value.kind == Kind::kWeights) {
    node.set(weights_value(transposed_weights(value.weights, *axes)));
    return {};
  }
  SLUICE_ASSIGN(const graph::TensorId tensor, node.tensor(0));
  const bool moves = !std::is_sorted(axes->begin(), axes->end());
  node.set(moves ? node.builder.transpose(tensor, *axes) : tensor);
  return {};
}

Status convert_expand(Node& node) {
  SLUICE_ASSIGN(const HostArray given, node.array(1));
  SLUICE_ASSIGN(const graph::Shape x, node.shape(0));
  if (!given.is_integer || given.ints.size() > 16) return node.error("needs a shape as input 1");
  graph::Shape y = given.ints;
  if (node.conversion.file_batch > 0 && !given.from_shape && !y.empty() && y[0] == node.conversion.file_batch) {
    y[0] = node.conversion.batch;
  }
  if (y.size() < x.size()) y.insert(y.begin(), x.size() - y.size(), 1);
  graph::Shape from = x;
  from.insert(from.begin(), y.size() - x.size(), 1);
  for (std::size_t d = 0; d < y.size(); ++d) {
    if (y[d] == 1) y[d] = from[d];
  }
  if (checked_count(y).value_or(0) == 0)
    return node.error(fmt::format("grows to the impossible {}", graph::to_string(y)));
  SLUICE_RETURN_IF_ERROR(set_reshaped(node, from));
  if (from == y) return {};
  SLUICE_ASSIGN(const graph::TensorId tensor,
                node.conversion.tensor(node.conversion.value(node.proto.output(0)), node.name()));
  graph::ShapeAttributes attributes;
  attributes.shape = y;
  SLUICE_ASSIGN(const graph::TensorId grown, node.add(graph::OpKind::kBroadcast, attributes, {tensor}));
  node.set(grown);
  return {};
}

}  // namespace

void add_movement_converters(ConverterTable& table) {
  table["Reshape"] = convert_reshape;
  table["Flatten"] = convert_flatten;
  table["Squeeze"] = convert_squeeze;
  table["Unsqueeze"] = convert_unsqueeze;
  table["Transpose"] = convert_transpose;
  table["Expand"] = convert_expand;
}

}  // namespace sluice::onnx
