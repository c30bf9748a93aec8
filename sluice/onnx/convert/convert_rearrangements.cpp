// Ops that put the elements of a tensor in another order or repeat them: blocks of depth and space, tiles, triangles,
// turned sequences, columns into images.
#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/convert/tensor_ops.hpp"

namespace sluice::onnx {
namespace {

struct Picture {
  graph::TensorId x = -1;
  std::int64_t n = 0, c = 0, h = 0, w = 0, block = 0;
};

Result<Picture> picture_of(Node& node) {
  Picture picture;
  SLUICE_ASSIGN(picture.x, node.tensor(0));
  if (node.builder.failed()) return node.error("follows an op that failed");
  const graph::Shape shape = node.builder.shape(picture.x);
  picture.block = node.attributes.integer("blocksize", 0);
  if (shape.size() != 4 || picture.block < 1 || picture.block > (1 << 10)) {
    return node.error(
        fmt::format("needs an image and a blocksize, got {} and {}", graph::to_string(shape), picture.block));
  }
  picture.n = shape[0];
  picture.c = shape[1];
  picture.h = shape[2];
  picture.w = shape[3];
  return picture;
}

Status convert_depth_to_space(Node& node) {
  SLUICE_ASSIGN(const Picture p, picture_of(node));
  const std::string mode = node.attributes.text("mode", "DCR");
  const std::int64_t depth = p.c / (p.block * p.block);
  if (p.c % (p.block * p.block) != 0 || (mode != "DCR" && mode != "CRD")) {
    return node.error(fmt::format("cannot part {} channels into blocks of {} ({})", p.c, p.block, mode));
  }
  const bool depth_first = mode == "CRD";
  const graph::TensorId parts = depth_first ? reshape_to(node, p.x, {p.n, depth, p.block, p.block, p.h, p.w})
                                            : reshape_to(node, p.x, {p.n, p.block, p.block, depth, p.h, p.w});
  const graph::TensorId moved =
      depth_first ? transpose_to(node, parts, {0, 1, 4, 2, 5, 3}) : transpose_to(node, parts, {0, 3, 4, 1, 5, 2});
  node.set(reshape_to(node, moved, {p.n, depth, p.h * p.block, p.w * p.block}));
  return {};
}

Status convert_space_to_depth(Node& node) {
  SLUICE_ASSIGN(const Picture p, picture_of(node));
  if (p.h % p.block != 0 || p.w % p.block != 0) {
    return node.error(fmt::format("cannot part {} x {} pixels into blocks of {}", p.h, p.w, p.block));
  }
  const graph::TensorId parts = reshape_to(node, p.x, {p.n, p.c, p.h / p.block, p.block, p.w / p.block, p.block});
  const graph::TensorId moved = transpose_to(node, parts, {0, 3, 5, 1, 2, 4});
  node.set(reshape_to(node, moved, {p.n, p.c * p.block * p.block, p.h / p.block, p.w / p.block}));
  return {};
}

// An axis of one element grows; of several, they are taken again and again.
Status convert_tile(Node& node) {
  SLUICE_ASSIGN(graph::TensorId y, node.tensor(0));
  SLUICE_ASSIGN(const std::vector<std::int64_t> repeats, node.integers(1));
  if (node.builder.failed()) return {};
  const graph::Shape shape = node.builder.shape(y);
  if (repeats.size() != shape.size()) return node.error("needs a number of repeats for each axis");
  graph::Shape grown = shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (repeats[d] < 1 || repeats[d] > kMostElements / shape[d]) return node.error("repeats an axis impossibly often");
    if (shape[d] == 1) grown[d] = repeats[d];
  }
  SLUICE_ASSIGN(y, grow(node, y, grown));
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1 || repeats[d] == 1) continue;
    if (shape[d] * repeats[d] > kMostMatrixTerms) return node.error("repeats a long axis too often");
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < shape[d] * repeats[d]; ++i) places.push_back(i % shape[d]);
    SLUICE_ASSIGN(y, take_along(node, y, as_id<std::int64_t>(d), places));
  }
  node.set(y);
  return {};
}

Status convert_triangle(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  if (node.builder.failed()) return {};
  const graph::Shape shape = node.builder.shape(x);
  if (shape.size() < 2) return node.error("needs a matrix");
  std::int64_t diagonal = 0;
  if (node.has(1)) {
    SLUICE_ASSIGN(const std::vector<std::int64_t> stated, node.integers(1));
    if (stated.size() != 1) return node.error("needs one number as its diagonal");
    diagonal = stated[0];
  }
  const bool upper = node.attributes.integer("upper", 1) != 0;
  const std::int64_t rows = shape[shape.size() - 2];
  const std::int64_t columns = shape.back();
  if (!checked_count({rows, columns}, kMostArrayElements)) return node.error("keeps a part of a very large matrix");
  HostArray kept = filled(graph::Shape{rows, columns}, 0.0F);
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const std::int64_t beyond = i % columns - i / columns;
    if (upper ? beyond >= diagonal : beyond <= diagonal) kept.floats[as_index(i)] = 1;
  }
  SLUICE_ASSIGN(const graph::TensorId mask, constant(node, std::move(kept), ".kept"));
  SLUICE_ASSIGN(const graph::TensorId zero, constant(node, filled(graph::Shape{1}, 0.0F), ".zero"));
  SLUICE_ASSIGN(const graph::TensorId y, select(node, mask, x, zero));
  node.set(y);
  return {};
}

// The first `length` steps of each sequence in turned order.
Status convert_reverse_sequence(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  SLUICE_ASSIGN(const std::vector<std::int64_t> lengths, node.integers(1));
  if (node.builder.failed()) return {};
  const graph::Shape shape = node.builder.shape(x);
  const std::int64_t time = node.attributes.integer("time_axis", 0);
  if (shape.size() < 2 || node.attributes.integer("batch_axis", 1) != 1 - time || (time != 0 && time != 1)) {
    return node.error("needs time and batch as its first two axes");
  }
  const std::int64_t batch = shape[as_index(1 - time)];
  if (std::ssize(lengths) != batch) return node.error("needs a length for each sequence");
  SLUICE_RETURN_IF_ERROR(check_terms(node, shape[0], shape[1]));
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < shape[0] * shape[1]; ++i) {
    const auto [first, second] = std::pair(i / shape[1], i % shape[1]);
    const std::int64_t step = time == 0 ? first : second;
    const std::int64_t length = lengths[as_index(time == 0 ? second : first)];
    if (length < 0 || length > shape[as_index(time)]) return node.error("has a length beyond its sequences");
    const std::int64_t source = step < length ? length - 1 - step : step;
    places.push_back(time == 0 ? source * shape[1] + second : first * shape[1] + source);
  }
  graph::Shape rows(shape.begin() + 1, shape.end());
  rows[0] = shape[0] * shape[1];
  SLUICE_ASSIGN(const graph::TensorId turned, take_along(node, reshape_to(node, x, rows), 0, places));
  node.set(reshape_to(node, turned, shape));
  return {};
}

}  // namespace

void add_rearrangement_converters(ConverterTable& table) {
  table["DepthToSpace"] = convert_depth_to_space;
  table["SpaceToDepth"] = convert_space_to_depth;
  table["Tile"] = convert_tile;
  table["Trilu"] = convert_triangle;
  table["ReverseSequence"] = {convert_reverse_sequence, "of known lengths"};
}

}  // namespace sluice::onnx
