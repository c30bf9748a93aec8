// Gathers and scatters of single elements or blocks at places that are known: a product with a matrix of ones, over the
// tensor's elements in one row.
#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/convert/tensor_ops.hpp"

namespace sluice::onnx {
namespace {

using Places = std::vector<std::int64_t>;

constexpr std::size_t kMostRounds = 64;

struct Indexed {
  graph::TensorId x = -1;
  graph::Shape shape;
  HostArray indices;
};

// x and known indices of it, at `input`.
Result<Indexed> indexed(Node& node) {
  Indexed result;
  SLUICE_ASSIGN(result.x, node.tensor(0));
  if (node.builder.failed()) return node.error("follows an op that failed");
  result.shape = node.builder.shape(result.x);
  SLUICE_ASSIGN(result.indices, node.array(1));
  if (!result.indices.is_integer || result.indices.count() == 0) return node.error("needs integers as input 1");
  return result;
}

// Where in x each index of GatherElements and ScatterElements points, in x's row-major order.
Result<Places> element_places(Node& node, const Indexed& given, std::int64_t axis) {
  const graph::Shape& to = given.shape;
  const graph::Shape& from = given.indices.shape;
  const auto fits = [&](std::size_t d) { return d == as_index(axis) || from[d] <= to[d]; };
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (from.size() != to.size() || !fits(d)) {
      return node.error(fmt::format("has indices {} into {}", graph::to_string(from), graph::to_string(to)));
    }
  }
  if (from.size() != to.size()) return node.error("has indices of another rank than x");
  const std::vector<std::int64_t> own = strides_of(from);
  const std::vector<std::int64_t> strides = strides_of(to);
  Places places;
  for (std::int64_t i = 0; i < given.indices.count(); ++i) {
    std::int64_t index = given.indices.ints[as_index(i)];
    if (index < 0) index += to[as_index(axis)];
    if (index < 0 || index >= to[as_index(axis)]) return node.error(fmt::format("has the index {}", index));
    std::int64_t place = index * strides[as_index(axis)];
    for (std::size_t d = 0; d < from.size(); ++d) {
      if (d != as_index(axis)) place += i / own[d] % from[d] * strides[d];
    }
    places.push_back(place);
  }
  return places;
}

// Of GatherND and ScatterND: indices [..., K] point to blocks of what K dimensions leave, counted in such blocks. The
// first `batch` dimensions are common to x and the indices.
struct Blocks {
  Places places;
  std::int64_t size = 1;
  graph::Shape leading;  // of the indices, without the last dimension
};

Result<Blocks> blocks_of(Node& node, const Indexed& given, std::int64_t batch) {
  const graph::Shape& indices = given.indices.shape;
  if (indices.empty() || batch < 0 || batch >= std::ssize(indices)) {
    return node.error(fmt::format("has indices {} for a batch of {} dimensions", graph::to_string(indices), batch));
  }
  const std::int64_t depth = indices.back();
  if (depth < 1 || batch + depth > std::ssize(given.shape)) {
    return node.error(fmt::format("has indices {} into {}", graph::to_string(indices), graph::to_string(given.shape)));
  }
  Blocks blocks;
  blocks.leading.assign(indices.begin(), indices.end() - 1);
  graph::Shape outer(given.shape.begin(), given.shape.begin() + batch + depth);
  blocks.size = graph::element_count(given.shape) / graph::element_count(outer);
  const std::vector<std::int64_t> strides = strides_of(outer);
  const std::int64_t count = given.indices.count() / depth;
  std::int64_t in_batch = 1;
  for (std::int64_t d = 0; d < batch; ++d) in_batch *= given.shape[as_index(d)];
  if (count % in_batch != 0) return node.error("has another batch than x");
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t place = i / (count / in_batch) * (graph::element_count(outer) / in_batch);
    for (std::int64_t k = 0; k < depth; ++k) {
      std::int64_t index = given.indices.ints[as_index(i * depth + k)];
      const std::int64_t extent = outer[as_index(batch + k)];
      if (index < 0) index += extent;
      if (index < 0 || index >= extent) return node.error(fmt::format("has the index {} of {}", index, extent));
      place += index * strides[as_index(batch + k)];
    }
    blocks.places.push_back(place);
  }
  return blocks;
}

// By indices that depend on the data: of all elements along the axis, the sum of the one whose place is the index.
Status gather_computed_elements(Node& node) {
  SLUICE_ASSIGN(graph::TensorId x, node.tensor(0));
  SLUICE_ASSIGN(graph::TensorId indices, node.tensor(1));
  if (node.builder.failed()) return {};
  const graph::Shape shape = node.builder.shape(x), wanted = node.builder.shape(indices);
  SLUICE_ASSIGN(const std::int64_t axis, positive_axis(node.attributes.integer("axis", 0), shape.size()));
  const std::int64_t extent = shape[as_index(axis)], last = std::ssize(shape) - 1;
  graph::Shape fitting = wanted;
  if (fitting.size() == shape.size()) fitting[as_index(axis)] = extent;
  if (fitting != shape) {
    return node.error(
        fmt::format("has computed indices {} into {}", graph::to_string(wanted), graph::to_string(shape)));
  }
  indices = move_axis(node, indices, axis, last);
  x = move_axis(node, x, axis, last);
  if (node.builder.failed()) return {};
  const graph::Shape result = node.builder.shape(indices);
  graph::Shape rows = node.builder.shape(x);
  rows.insert(rows.end() - 1, 1);  // [..., 1, extent] where it is chosen from for each index
  SLUICE_ASSIGN(const graph::TensorId here, one_hot_of_numbers(node, indices, extent));
  SLUICE_ASSIGN(const graph::TensorId nothing, constant(node, filled(graph::Shape{1}, 0.0F), ".nothing"));
  SLUICE_ASSIGN(const graph::TensorId picked, select(node, here, reshape_to(node, x, rows), nothing));
  const graph::TensorId sums = reduce_over(node, graph::ReduceFunction::kSum, picked, {last + 1});
  node.set(move_axis(node, reshape_to(node, sums, result), last, axis));
  return {};
}

Status convert_gather_elements(Node& node) {
  if (node.has(1) && !node.is_constant(1)) return gather_computed_elements(node);
  SLUICE_ASSIGN(const Indexed given, indexed(node));
  SLUICE_ASSIGN(const std::int64_t axis, positive_axis(node.attributes.integer("axis", 0), given.shape.size()));
  SLUICE_ASSIGN(const Places places, element_places(node, given, axis));
  const graph::TensorId row = reshape_to(node, given.x, {graph::element_count(given.shape)});
  SLUICE_ASSIGN(const graph::TensorId taken, take_along(node, row, 0, places));
  node.set(reshape_to(node, taken, given.indices.shape));
  return {};
}

Status convert_gather_blocks(Node& node) {
  SLUICE_ASSIGN(const Indexed given, indexed(node));
  const std::int64_t batch = node.attributes.integer("batch_dims", 0);
  SLUICE_ASSIGN(const Blocks blocks, blocks_of(node, given, batch));
  const graph::TensorId rows =
      reshape_to(node, given.x, {graph::element_count(given.shape) / blocks.size, blocks.size});
  SLUICE_ASSIGN(const graph::TensorId taken, take_along(node, rows, 0, blocks.places));
  graph::Shape y = blocks.leading;
  const std::int64_t indexed_dimensions = batch + given.indices.shape.back();
  y.insert(y.end(), given.shape.begin() + indexed_dimensions, given.shape.end());
  node.set(reshape_to(node, taken, y.empty() ? graph::Shape{1} : y));
  return {};
}

// For each place, which updates go there, in their order.
std::vector<Places> updates_by_place(const Places& places, std::int64_t rows) {
  std::vector<Places> updates(as_index(rows));
  for (std::size_t i = 0; i < places.size(); ++i) {
    updates[as_index(places[i])].push_back(as_id<std::int64_t>(i));
  }
  return updates;
}

// Row `place` of the matrix takes updates [begin, end) of those that go there.
graph::SparseMatrix placement(const std::vector<Places>& updates, std::size_t begin, std::size_t end,
                              std::size_t columns) {
  graph::SparseMatrix matrix;
  matrix.columns = as_id<std::int64_t>(columns);
  for (const Places& here : updates) {
    for (std::size_t i = begin; i < std::min(end, here.size()); ++i) matrix.add_term(here[i], 1);
    matrix.end_row();
  }
  return matrix;
}

// 1 where no update of this round goes.
Result<graph::TensorId> untouched(Node& node, const std::vector<Places>& updates, std::size_t round) {
  HostArray kept = filled(graph::Shape{std::ssize(updates), 1}, 0.0F);
  for (std::size_t i = 0; i < updates.size(); ++i) kept.floats[i] = updates[i].size() > round ? 0.0F : 1.0F;
  return constant(node, std::move(kept), fmt::format(".untouched{}", round));
}

// One update at most for each place. What is not touched meets 1, or itself.
Result<graph::TensorId> combined_round(Node& node, graph::TensorId x, graph::TensorId placed, graph::TensorId kept,
                                       const std::string& reduction) {
  if (reduction == "mul") {
    SLUICE_ASSIGN(const graph::TensorId factor, select(node, kept, kept, placed));
    return combine(node, graph::BinaryFunction::kMultiply, x, factor);
  }
  SLUICE_ASSIGN(const graph::TensorId other, select(node, kept, x, placed));
  if (reduction == "none") return other;
  return combine(node, reduction == "max" ? graph::BinaryFunction::kMaximum : graph::BinaryFunction::kMinimum, x,
                 other);
}

// x [rows, size] with updates [places, size] put in (of several at a place the last), added, or combined one by one.
Result<graph::TensorId> scattered(Node& node, graph::TensorId x, graph::TensorId given, const Places& places,
                                  std::int64_t rows) {
  const std::string reduction = node.attributes.text("reduction", "none");
  SLUICE_RETURN_IF_ERROR(check_terms(node, rows, 1));
  std::vector<Places> updates = updates_by_place(places, rows);
  if (reduction == "add") {
    SLUICE_ASSIGN(const graph::TensorId sums,
                  multiply_along(node, given, 0, placement(updates, 0, places.size(), places.size())));
    return combine(node, graph::BinaryFunction::kAdd, x, sums);
  }
  if (reduction != "none" && reduction != "mul" && reduction != "max" && reduction != "min") {
    return node.error(fmt::format("has the reduction {}", reduction));
  }
  std::size_t rounds = 0;
  for (Places& here : updates) {
    if (reduction == "none" && here.size() > 1) here = {here.back()};
    rounds = std::max(rounds, here.size());
  }
  if (rounds > kMostRounds) return node.error(fmt::format("combines {} updates at one place", rounds));
  for (std::size_t round = 0; round < rounds; ++round) {
    SLUICE_ASSIGN(const graph::TensorId placed,
                  multiply_along(node, given, 0, placement(updates, round, round + 1, places.size())));
    SLUICE_ASSIGN(const graph::TensorId kept, untouched(node, updates, round));
    SLUICE_ASSIGN(x, combined_round(node, x, placed, kept, reduction));
  }
  return x;
}

Status convert_scatter_elements(Node& node) {
  SLUICE_ASSIGN(const Indexed given, indexed(node));
  SLUICE_ASSIGN(const std::int64_t axis, positive_axis(node.attributes.integer("axis", 0), given.shape.size()));
  SLUICE_ASSIGN(const Places places, element_places(node, given, axis));
  SLUICE_ASSIGN(const graph::TensorId updates, node.tensor(2));
  const std::int64_t count = graph::element_count(given.shape);
  const auto changed = std::ssize(places);
  if (graph::element_count(node.builder.shape(updates)) != changed) return node.error("has other updates than indices");
  SLUICE_ASSIGN(const graph::TensorId y, scattered(node, reshape_to(node, given.x, {count, 1}),
                                                   reshape_to(node, updates, {changed, 1}), places, count));
  node.set(reshape_to(node, y, given.shape));
  return {};
}

Status convert_scatter_blocks(Node& node) {
  SLUICE_ASSIGN(const Indexed given, indexed(node));
  SLUICE_ASSIGN(const Blocks blocks, blocks_of(node, given, 0));
  SLUICE_ASSIGN(const graph::TensorId updates, node.tensor(2));
  const std::int64_t rows = graph::element_count(given.shape) / blocks.size;
  const auto changed = std::ssize(blocks.places);
  if (graph::element_count(node.builder.shape(updates)) != changed * blocks.size) {
    return node.error("has other updates than indices");
  }
  SLUICE_ASSIGN(const graph::TensorId y,
                scattered(node, reshape_to(node, given.x, {rows, blocks.size}),
                          reshape_to(node, updates, {changed, blocks.size}), blocks.places, rows));
  node.set(reshape_to(node, y, given.shape));
  return {};
}

}  // namespace

void add_indexing_converters(ConverterTable& table) {
  constexpr std::string_view kKnown = "with known indices";
  table["GatherElements"] = convert_gather_elements;
  table["GatherND"] = {convert_gather_blocks, kKnown};
  table["ScatterElements"] = {convert_scatter_elements, kKnown};
  table["Scatter"] = {convert_scatter_elements, kKnown};
  table["ScatterND"] = {convert_scatter_blocks, kKnown};
}

}  // namespace sluice::onnx
