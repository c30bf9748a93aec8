// Lookups: rows of tables by ids of the data, and elements at places that are known.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/arrays/array_ops.hpp"
#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/convert/tensor_ops.hpp"

namespace sluice::onnx {
namespace {

using Kind = Value::Kind;
using Places = std::vector<std::int64_t>;

// Rows of a table by ids that are data. A weight of two dimensions is the table as it is; of any other tensor `axis` goes
// first and the rest are a row.
Status convert_embedding(Node& node, const Value& ids, std::int64_t axis) {
  const Value x = node.value(0);
  if (x.kind == Kind::kWeights && x.weights->shape.size() == 2 && axis == 0) {
    SLUICE_ASSIGN(const graph::TensorId w, node.conversion.parameter(x.weights, node.name() + ".weight"));
    SLUICE_ASSIGN(graph::TensorId y, node.add(graph::OpKind::kEmbedding, {}, {ids.tensor, w}));
    if (ids.time_major) y = node.builder.transpose(y, {1, 0, 2});
    node.set(y);
    return {};
  }
  SLUICE_ASSIGN(graph::TensorId table, node.tensor(0));
  if (node.builder.failed()) return {};
  if (ids.time_major) return node.error("looks up by ids that come time-major");
  table = move_axis(node, table, axis, 0);
  const graph::Shape rows = node.builder.shape(table);
  table = reshape_to(node, table, {rows[0], graph::element_count(rows) / rows[0]});
  SLUICE_ASSIGN(graph::TensorId y, node.add(graph::OpKind::kEmbedding, {}, {ids.tensor, table}));
  graph::Shape shape = node.builder.shape(ids.tensor);
  const auto looked_up = std::ssize(shape);
  shape.insert(shape.end(), rows.begin() + 1, rows.end());
  y = reshape_to(node, y, shape);
  if (axis > 0 && !node.builder.failed()) {  // what was before the axis goes before the ids again
    std::vector<std::int64_t> axes(shape.size());
    std::iota(axes.begin(), axes.end(), 0);
    std::rotate(axes.begin(), axes.begin() + looked_up, axes.begin() + looked_up + axis);
    y = node.builder.transpose(y, axes);
  }
  node.set(y);
  return {};
}

Result<Places> counted_from_start(Node& node, Places places, std::int64_t extent) {
  for (std::int64_t& place : places) {
    if (place < 0) place += extent;
    if (place < 0 || place >= extent) return node.error(fmt::format("takes element {} of {}", place, extent));
  }
  if (places.empty()) return node.error("takes no elements");
  return places;
}

// Elements of `x` at known places along an axis.
Status convert_selection(Node& node, const HostArray& indices, std::int64_t axis, const graph::Shape& shape) {
  SLUICE_ASSIGN(const Places places, counted_from_start(node, indices.ints, shape[as_index(axis)]));
  const auto runs = runs_of(places);
  graph::Shape y = shape;
  y.erase(y.begin() + axis);
  y.insert(y.begin() + axis, indices.shape.begin(), indices.shape.end());
  if (y.empty()) y = {1};
  const Value x = node.value(0);  // few parts of a weight stay expressions over it
  const bool whole = runs.size() == 1 && runs[0].first == 0 && runs[0].second == shape[as_index(axis)];
  if (x.kind == Kind::kWeights && (whole || !indices.from_shape) && runs.size() <= kMostRuns) {
    std::vector<Weights> parts;
    for (const auto& [begin, end] : runs) parts.push_back(sliced_weights(x.weights, axis, begin, end));
    node.set(weights_value(reshaped_weights(joined_weights(parts, axis), y)));
    return {};
  }
  SLUICE_ASSIGN(const graph::TensorId tensor, node.tensor(0));
  SLUICE_ASSIGN(const graph::TensorId taken, take_along(node, tensor, axis, places));
  node.set(reshape_to(node, taken, y));
  return {};
}

Status convert_gather(Node& node) {
  SLUICE_ASSIGN(const graph::Shape shape, node.shape(0));
  SLUICE_ASSIGN(const std::int64_t axis, positive_axis(node.attributes.integer("axis", 0), shape.size()));
  const Value indices = node.value(1);
  if (indices.kind == Kind::kTensor) {
    const bool given = node.builder.failed() || node.builder.tensor(indices.tensor).dtype == graph::DType::kI32;
    if (!given && !indices.integral) return node.error("looks up with indices that are not whole numbers");
    return convert_embedding(node, indices, axis);
  }
  SLUICE_ASSIGN(const HostArray places, node.array(1));
  if (!places.is_integer) return node.error("needs integers as input 1");
  return convert_selection(node, places, axis, shape);
}

// Ids as rows of the unit matrix; a number by which to count from the end is added beforehand.
Result<graph::TensorId> one_hot_of_ids(Node& node, graph::TensorId ids, std::int64_t depth) {
  HostArray unit = filled(graph::Shape{depth, depth}, 0.0F);
  for (std::int64_t i = 0; i < depth; ++i) unit.floats[as_index(i * depth + i)] = 1;
  SLUICE_ASSIGN(const graph::TensorId table, constant(node, std::move(unit), ".unit"));
  return node.add(graph::OpKind::kEmbedding, {}, {ids, table});
}

Status convert_one_hot(Node& node) {
  SLUICE_ASSIGN(const HostArray depths, node.array(1));
  SLUICE_ASSIGN(const HostArray values, node.array(2));
  if (depths.count() != 1 || values.count() != 2) return node.error("needs a depth and two values, known beforehand");
  const std::int64_t depth = integer_of(depths.at(0));
  if (depth < 1 || depth > (1 << 12)) return node.error(fmt::format("has a depth of {}; at most 4096", depth));
  const Value ids = node.value(0);
  const bool scalar = ids.kind == Kind::kArray && ids.array->shape.empty();
  const bool is_ids = ids.kind == Kind::kTensor && node.builder.tensor(ids.tensor).bound > 0 && !ids.time_major &&
                      node.builder.tensor(ids.tensor).bound <= depth;
  graph::TensorId y = -1;
  if (is_ids) {
    SLUICE_ASSIGN(y, one_hot_of_ids(node, ids.tensor, depth));
  } else {
    SLUICE_ASSIGN(const graph::TensorId numbers, node.tensor(0));
    if (node.builder.failed()) return {};
    SLUICE_ASSIGN(y, one_hot_of_numbers(node, numbers, depth));
  }
  if (node.builder.failed()) return {};
  const auto off = static_cast<float>(values.at(0));
  y = affine(node, y, static_cast<float>(values.at(1)) - off, off);
  const std::size_t rank = node.builder.shape(y).size();
  SLUICE_ASSIGN(const std::int64_t axis, positive_axis(node.attributes.integer("axis", -1), rank));
  y = move_axis(node, y, as_id<std::int64_t>(rank) - 1, axis);
  if (scalar) y = reshape_to(node, y, {depth});
  values.is_integer ? node.set_integral(y) : node.set(y);
  return {};
}

// The elements where a known condition holds, along an axis or of all.
Status convert_compress(Node& node) {
  SLUICE_ASSIGN(graph::TensorId x, node.tensor(0));
  if (node.builder.failed()) return {};
  SLUICE_ASSIGN(const HostArray condition, node.array(1));
  std::int64_t axis = 0;
  if (node.attributes.has("axis")) {
    SLUICE_ASSIGN(axis, positive_axis(node.attributes.integer("axis", 0), node.builder.shape(x).size()));
  } else {
    x = reshape_to(node, x, {graph::element_count(node.builder.shape(x))});
  }
  Places places;
  for (std::int64_t i = 0; i < condition.count(); ++i) {
    if (condition.at(i) != 0) places.push_back(i);
  }
  SLUICE_ASSIGN(const graph::TensorId y, take_along(node, x, axis, places));
  node.set(y);
  return {};
}

}  // namespace

void add_lookup_converters(ConverterTable& table) {
  table["Gather"] = convert_gather;
  table["OneHot"] = {convert_one_hot, "of a known depth up to 4096"};
  table["Compress"] = {convert_compress, "by a known condition"};
}

}  // namespace sluice::onnx
