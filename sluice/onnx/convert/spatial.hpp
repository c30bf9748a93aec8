// Windows that move over one to three dimensions, as ONNX' convolutions and poolings describe them, and images as ops of
// two dimensions want them.
#pragma once

#include "sluice/graph/ops/sparse_matrix.hpp"
#include "sluice/onnx/convert/conversion.hpp"

namespace sluice::onnx {

// One dimension of a window. `after` has the padding that a rounded-up size asks for, which `rounding` counts.
struct Side {
  std::int64_t extent = 1, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0, rounding = 0;

  std::int64_t reach() const { return dilation * (kernel - 1) + 1; }
  std::int64_t outputs() const { return (extent + before + after - reach()) / stride + 1; }
  // Where tap `tap` of output `output` looks; below 0 or beyond `extent`: at padding.
  std::int64_t place(std::int64_t output, std::int64_t tap) const { return output * stride + tap * dilation - before; }
  bool holds(std::int64_t place) const { return place >= 0 && place < extent; }
};
using Sides = std::vector<Side>;

// The node's attributes for a kernel over the last dimensions of `shape`. Errors: other ranks, extents or attributes out
// of range, windows that do not fit.
Result<Sides> read_sides(Node& node, const std::vector<std::int64_t>& kernel, const graph::Shape& shape);

// For each output of all dimensions and each tap of its window, row-major, which element of the picture it sees; -1 at
// padding. Errors: more than a matrix may have terms.
Result<std::vector<std::int64_t>> tap_places(Node& node, const Sides& sides);

// A tap at padding becomes the first of its window that is none. Errors: a window of padding alone.
Status keep_within(Node& node, std::vector<std::int64_t>& places, std::size_t taps);
// The place's number when columns come first.
std::int64_t columns_first(std::int64_t place, const Sides& sides);

// Of one or two dimensions; `extra`: padding that a Pad before left to do (top, left, bottom, right).
graph::Window window_of(const Sides& sides, const std::array<std::int64_t, 4>& extra = {});

// x as [N, C, H, W]: [N, C, L] becomes [N, C, 1, L].
struct Image {
  graph::TensorId x = -1;
  graph::Shape shape;                        // the model's, without the padding that is still to do
  std::array<std::int64_t, 4> padding = {};  // zeros that a Pad before left for this op
  bool flat = false;

  bool padded() const { return padding != std::array<std::int64_t, 4>{}; }
  std::size_t dimensions() const { return shape.size() - 2; }
};
// Errors: not one to three dimensions behind N and C.
Result<Image> image_of(Node& node);
// y, an op's [N, C, H, W], in the form that the image had.
graph::TensorId like_image(Node& node, const Image& image, graph::TensorId y);

std::vector<std::int64_t> spatial_part(const graph::Shape& shape);

}  // namespace sluice::onnx
