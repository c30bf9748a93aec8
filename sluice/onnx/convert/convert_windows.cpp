// Convolutions. One-dimensional ones are of images of height 1. Those of three dimensions are convolutions of pictures:
// what a kernel sees in depth are channels side by side, so x is held once for each plane of the kernel.
#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/convert/spatial.hpp"
#include "sluice/onnx/convert/tensor_ops.hpp"

namespace sluice::onnx {
namespace {

Result<Weights> convolution_weights(Node& node, const Image& image) {
  SLUICE_ASSIGN(Weights weight, node.weights(1, image.shape.size()));
  const auto stated = node.attributes.integers("kernel_shape");
  if (!stated || *stated == spatial_part(weight->shape)) return weight;
  return node.error(fmt::format("says kernel_shape {}, but its weights are {}", graph::to_string(*stated),
                                graph::to_string(weight->shape)));
}

// [O, I, KH, KW] of kernels of any dimensions: length 1 is added, depth joins the channels.
Weights as_picture_weights(const Weights& weight) {
  const graph::Shape& s = weight->shape;
  if (s.size() == 3) return reshaped_weights(weight, {s[0], s[1], 1, s[2]});
  if (s.size() == 5) return reshaped_weights(weight, {s[0], s[1] * s[2], s[3], s[4]});
  return weight;
}

// Inputs of the op: x, w and the bias when there is one and it is the op's to add.
Result<std::vector<graph::TensorId>> convolution_inputs(Node& node, graph::TensorId x, const Weights& weight,
                                                        bool with_bias) {
  SLUICE_ASSIGN(const graph::TensorId w,
                node.conversion.parameter(as_picture_weights(weight), node.name() + ".weight"));
  std::vector<graph::TensorId> inputs = {x, w};
  if (with_bias && node.has(2)) {
    SLUICE_ASSIGN(const Weights bias, node.weights(2, 1));
    SLUICE_ASSIGN(const graph::TensorId b, node.conversion.parameter(bias, node.name() + ".bias"));
    inputs.push_back(b);
  }
  return inputs;
}

// x [N, C, D, H, W] as [N outputs, C kernel, H, W]: for each output the planes that its kernel sees.
Result<graph::TensorId> unfolded_depth(Node& node, const Image& image, const Side& depth) {
  std::vector<std::int64_t> places;
  for (std::int64_t output = 0; output < depth.outputs(); ++output) {
    for (std::int64_t tap = 0; tap < depth.kernel; ++tap) {
      const std::int64_t place = depth.place(output, tap);
      places.push_back(depth.holds(place) ? place : -1);
    }
  }
  const graph::Shape& s = image.shape;
  SLUICE_ASSIGN(const graph::TensorId planes, take_along(node, image.x, 2, places));
  const graph::TensorId seen = reshape_to(node, planes, {s[0], s[1], depth.outputs(), depth.kernel, s[3], s[4]});
  const graph::TensorId moved = transpose_to(node, seen, {0, 2, 1, 3, 4, 5});
  return reshape_to(node, moved, {s[0] * depth.outputs(), s[1] * depth.kernel, s[3], s[4]});
}

// y [N D, C, H, W] as [N, C, D, H, W].
graph::TensorId with_depth(Node& node, graph::TensorId y, std::int64_t samples) {
  if (node.builder.failed()) return y;
  const graph::Shape s = node.builder.shape(y);
  const graph::TensorId parted = reshape_to(node, y, {samples, s[0] / samples, s[1], s[2], s[3]});
  return transpose_to(node, parted, {0, 2, 1, 3, 4});
}

Status convert_deep_conv(Node& node, const Image& image, const Weights& weight, const Sides& sides) {
  graph::ConvolutionAttributes attributes;
  attributes.groups = node.attributes.integer("group", 1);
  attributes.window = window_of({sides[1], sides[2]});
  if (sides[0].extent + sides[0].before + sides[0].after < sides[0].reach()) return node.error("has a window beyond x");
  SLUICE_RETURN_IF_ERROR(check_terms(node, sides[0].outputs(), sides[0].kernel));
  SLUICE_ASSIGN(const graph::TensorId planes, unfolded_depth(node, image, sides[0]));
  SLUICE_ASSIGN(const std::vector<graph::TensorId> inputs, convolution_inputs(node, planes, weight, true));
  SLUICE_ASSIGN(const graph::TensorId y, node.add(graph::OpKind::kConv2d, attributes, inputs));
  node.set(with_depth(node, y, image.shape[0]));
  return {};
}

Status convert_conv(Node& node) {
  SLUICE_ASSIGN(const Image image, image_of(node));
  SLUICE_ASSIGN(const Weights weight, convolution_weights(node, image));
  SLUICE_ASSIGN(const Sides sides, read_sides(node, spatial_part(weight->shape), image.shape));
  if (sides.size() == 3) return convert_deep_conv(node, image, weight, sides);
  graph::ConvolutionAttributes attributes;
  attributes.groups = node.attributes.integer("group", 1);
  attributes.window = window_of(sides, image.padding);
  SLUICE_ASSIGN(const std::vector<graph::TensorId> inputs, convolution_inputs(node, image.x, weight, true));
  if (!image.flat) attributes.activation = node.absorb_activation();
  SLUICE_ASSIGN(const graph::TensorId y, node.add(graph::OpKind::kConv2d, attributes, inputs));
  node.set(like_image(node, image, y));
  return {};
}

// The padding that the stated size of the result, or `auto_pad`, asks for: of an odd one the larger half is at the
// beginning, but for SAME_UPPER. That of the end shrinks by output_padding.
Status pad_for_output(Node& node, Sides& sides) {
  const auto more = node.attributes.integers("output_padding").value_or(std::vector<std::int64_t>(sides.size(), 0));
  const auto shape = node.attributes.integers("output_shape");
  const std::string mode = node.attributes.text("auto_pad", "NOTSET");
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (more.size() != sides.size() || (shape && shape->size() < sides.size())) {
    return node.error("needs output_padding and output_shape for each dimension");
  }
  for (std::size_t d = 0; d < sides.size(); ++d) {
    Side& side = sides[d];
    if (more[d] < 0 || more[d] > (1 << 20)) return node.error("has an output_padding out of range");
    if (shape || same) {
      const std::int64_t wanted = shape ? (*shape)[shape->size() - sides.size() + d] : side.extent * side.stride;
      if (wanted < 1 || wanted > kMostElements) return node.error("asks for an impossible output_shape");
      const std::int64_t total = side.stride * (side.extent - 1) + more[d] + side.reach() - wanted;
      const std::int64_t half = (total - (total < 0 ? 1 : 0)) / 2;  // rounded down
      side.before = mode == "SAME_UPPER" ? half : total - half;
      side.after = total - side.before;
    }
    side.after -= more[d];
  }
  return {};
}

// Sums what the planes of all inputs give to each plane of the result.
graph::SparseMatrix folded_depth(const Side& depth, std::int64_t outputs) {
  graph::SparseMatrix matrix;
  matrix.columns = depth.extent * depth.kernel;
  for (std::int64_t output = 0; output < outputs; ++output) {
    for (std::int64_t input = 0; input < depth.extent; ++input) {
      const std::int64_t reached = output + depth.before - input * depth.stride;
      if (reached < 0 || reached % depth.dilation != 0 || reached / depth.dilation >= depth.kernel) continue;
      matrix.add_term(input * depth.kernel + reached / depth.dilation, 1);
    }
    matrix.end_row();
  }
  return matrix;
}

Status convert_deep_transposed(Node& node, const Image& image, const Weights& weight, const Sides& sides) {
  const graph::Shape& s = image.shape;
  const Side& depth = sides[0];
  const std::int64_t outputs = (depth.extent - 1) * depth.stride + depth.reach() - depth.before - depth.after;
  if (outputs < 1) return node.error("makes an impossible depth");
  SLUICE_RETURN_IF_ERROR(check_terms(node, depth.extent, depth.kernel));
  SLUICE_RETURN_IF_ERROR(check_terms(node, outputs, depth.extent));
  const graph::TensorId planes =
      reshape_to(node, transpose_to(node, image.x, {0, 2, 1, 3, 4}), {s[0] * s[2], s[1], s[3], s[4]});
  graph::ConvolutionAttributes attributes;
  attributes.groups = node.attributes.integer("group", 1);
  attributes.window = window_of({sides[1], sides[2]});
  SLUICE_ASSIGN(const std::vector<graph::TensorId> inputs, convolution_inputs(node, planes, weight, false));
  SLUICE_ASSIGN(const graph::TensorId parts, node.add(graph::OpKind::kConvTranspose2d, attributes, inputs));
  if (node.builder.failed()) return {};
  const graph::Shape p = node.builder.shape(parts);
  const std::int64_t channels = p[1] / depth.kernel;
  const graph::TensorId parted = reshape_to(node, parts, {s[0], s[2], channels, depth.kernel, p[2], p[3]});
  const graph::TensorId joined = reshape_to(node, transpose_to(node, parted, {0, 2, 1, 3, 4, 5}),
                                            {s[0], channels, s[2] * depth.kernel, p[2], p[3]});
  SLUICE_ASSIGN(graph::TensorId y, multiply_along(node, joined, 2, folded_depth(depth, outputs)));
  if (node.has(2)) {
    SLUICE_ASSIGN(const graph::TensorId bias, node.tensor(2));
    SLUICE_ASSIGN(y, combine(node, graph::BinaryFunction::kAdd, y, reshape_to(node, bias, {channels, 1, 1, 1})));
  }
  node.set(y);
  return {};
}

Status convert_conv_transpose(Node& node) {
  SLUICE_ASSIGN(const Image image, image_of(node));
  if (image.padded()) return node.error("reads a padded image");
  SLUICE_ASSIGN(const Weights weight, convolution_weights(node, image));
  SLUICE_ASSIGN(Sides sides, read_sides(node, spatial_part(weight->shape), image.shape));
  SLUICE_RETURN_IF_ERROR(pad_for_output(node, sides));
  if (sides.size() == 3) return convert_deep_transposed(node, image, weight, sides);
  graph::ConvolutionAttributes attributes;
  attributes.groups = node.attributes.integer("group", 1);
  attributes.window = window_of(sides);
  SLUICE_ASSIGN(const std::vector<graph::TensorId> inputs, convolution_inputs(node, image.x, weight, true));
  if (!image.flat) attributes.activation = node.absorb_activation();
  SLUICE_ASSIGN(const graph::TensorId y, node.add(graph::OpKind::kConvTranspose2d, attributes, inputs));
  node.set(like_image(node, image, y));
  return {};
}

// Columns [N, C kernel, blocks] added up into an image: each block's elements at their places.
Status convert_columns_to_image(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  SLUICE_ASSIGN(const std::vector<std::int64_t> image, node.integers(1));
  SLUICE_ASSIGN(const std::vector<std::int64_t> block, node.integers(2));
  if (node.builder.failed()) return {};
  const graph::Shape columns = node.builder.shape(x);
  if (columns.size() != 3) return node.error(fmt::format("needs columns [N, C, L], got {}", graph::to_string(columns)));
  graph::Shape shape = {columns[0], 1};
  shape.insert(shape.end(), image.begin(), image.end());
  if (checked_count(shape, kMostMatrixTerms).value_or(0) == 0) return node.error("makes an impossible image");
  SLUICE_ASSIGN(const Sides sides, read_sides(node, block, shape));
  std::int64_t taps = 1;
  for (const Side& side : sides) {
    if (side.extent + side.before + side.after < side.reach()) return node.error("has a block beyond its image");
    taps = std::min(taps, kMostMatrixTerms) * side.kernel;
  }
  SLUICE_ASSIGN(const std::vector<std::int64_t> places, tap_places(node, sides));
  const std::int64_t blocks = std::ssize(places) / taps;
  if (columns[2] != blocks || columns[1] % taps != 0) {
    return node.error(fmt::format("has {} for {} blocks of {}", graph::to_string(columns), blocks, taps));
  }
  graph::SparseMatrix reads;  // the image into columns; the other way is its transpose
  reads.columns = graph::element_count(image);
  for (std::int64_t row = 0; row < taps * blocks; ++row) {
    const std::int64_t place = places[as_index(row % blocks * taps + row / blocks)];
    if (place >= 0) reads.add_term(place, 1);
    reads.end_row();
  }
  const std::int64_t channels = columns[1] / taps;
  const graph::TensorId rows = reshape_to(node, x, {columns[0], channels, taps * blocks});
  SLUICE_ASSIGN(const graph::TensorId y, multiply_along(node, rows, 2, graph::transposed(reads)));
  shape[1] = channels;
  node.set(reshape_to(node, y, shape));
  return {};
}

}  // namespace

void add_window_converters(ConverterTable& table) {
  table["Conv"] = {convert_conv, "one to three dimensions; weights from the file"};
  table["ConvTranspose"] = {convert_conv_transpose, "one to three dimensions; weights from the file"};
  table["Col2Im"] = convert_columns_to_image;
}

}  // namespace sluice::onnx
