// Pooling. Maxima and means over several dimensions are taken one after the other where no op does them at once: a window
// over planes looks at pictures whose rows are whole planes.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/convert/spatial.hpp"
#include "sluice/onnx/convert/tensor_ops.hpp"

namespace sluice::onnx {
namespace {

struct Pooled {
  Image image;
  Sides sides;
};

// The image as the op's own, with its zeros around it where a Pad left them.
Result<Pooled> pooled(Node& node) {
  const auto kernel = node.attributes.integers("kernel_shape");
  if (!kernel) return node.error("needs the attribute kernel_shape");
  Pooled result;
  SLUICE_ASSIGN(result.image, image_of(node));
  SLUICE_ASSIGN(result.sides, read_sides(node, *kernel, result.image.shape));
  for (std::size_t d = 0; d < result.sides.size(); ++d) {
    const Side& side = result.sides[d];
    const std::int64_t zeros = d < 2 ? result.image.padding[d] + result.image.padding[d + 2] : 0;
    if (side.extent + zeros + side.before + side.after < side.reach()) return node.error("has a window beyond x");
  }
  return result;
}

// The zeros around the image become part of it.
Status put_zeros_around(Node& node, Pooled& given) {
  if (!given.image.padded()) return {};
  SLUICE_ASSIGN(given.image.x, node.tensor(0));
  if (node.builder.failed()) return node.error("follows an op that failed");
  given.image.shape = node.builder.shape(given.image.x);
  given.image.padding = {};
  SLUICE_ASSIGN(given.sides, read_sides(node, *node.attributes.integers("kernel_shape"), given.image.shape));
  return {};
}

// x in the model's own form again.
graph::TensorId unflattened(Node& node, const Image& image) { return reshape_to(node, image.x, image.shape); }

bool is_dilated(const Sides& sides) {
  return std::any_of(sides.begin(), sides.end(), [](const Side& side) { return side.dilation != 1; });
}

// Each output's taps side by side along the axis. At padding stands a tap that is none: the first of the window's own, as
// a maximum does not change by what is there twice.
Result<graph::TensorId> largest_of_taps(Node& node, graph::TensorId x, std::size_t axis, const Side& side) {
  SLUICE_RETURN_IF_ERROR(check_terms(node, side.outputs(), side.kernel));
  std::vector<std::int64_t> places;
  for (std::int64_t output = 0; output < side.outputs(); ++output) {
    std::int64_t own = -1;
    for (std::int64_t tap = 0; tap < side.kernel && own < 0; ++tap) {
      if (side.holds(side.place(output, tap))) own = side.place(output, tap);
    }
    if (own < 0) return node.error("has a window that sees nothing but padding");
    for (std::int64_t tap = 0; tap < side.kernel; ++tap) {
      const std::int64_t place = side.place(output, tap);
      places.push_back(side.holds(place) ? place : own);
    }
  }
  const auto along = as_id<std::int64_t>(axis);
  SLUICE_ASSIGN(const graph::TensorId taps, take_along(node, x, along, places));
  if (node.builder.failed()) return taps;
  graph::Shape shape = node.builder.shape(taps);
  shape[axis] = side.outputs();
  graph::Shape parted = shape;
  parted.insert(parted.begin() + along + 1, side.kernel);
  const graph::TensorId largest =
      reduce_over(node, graph::ReduceFunction::kMaximum, reshape_to(node, taps, parted), {along + 1});
  return reshape_to(node, largest, shape);
}

Result<graph::TensorId> dilated_maximum(Node& node, graph::TensorId x, const Sides& sides) {
  for (std::size_t d = 0; d < sides.size(); ++d) {
    SLUICE_ASSIGN(x, largest_of_taps(node, x, d + 2, sides[d]));
  }
  return x;
}

Result<graph::TensorId> pool(Node& node, graph::OpKind kind, graph::TensorId x, const graph::Window& window) {
  return node.add(kind, graph::PoolAttributes{.window = window}, {x});
}

// Over the planes' pixels, then over the planes.
Result<graph::TensorId> deep_maximum(Node& node, graph::TensorId x, const graph::Shape& s, const Sides& sides) {
  const graph::TensorId pictures = reshape_to(node, x, {s[0], s[1] * s[2], s[3], s[4]});
  SLUICE_ASSIGN(const graph::TensorId flat,
                pool(node, graph::OpKind::kMaxPool, pictures, window_of({sides[1], sides[2]})));
  if (node.builder.failed()) return flat;
  const graph::Shape p = node.builder.shape(flat);
  const graph::TensorId planes = reshape_to(node, flat, {s[0], s[1], s[2], p[2] * p[3]});
  SLUICE_ASSIGN(const graph::TensorId y, pool(node, graph::OpKind::kMaxPool, planes, window_of({sides[0], Side{}})));
  return reshape_to(node, y, {s[0], s[1], sides[0].outputs(), p[2], p[3]});
}

// 0, pixels, 2 pixels, ...: where each channel's picture begins.
Result<graph::TensorId> picture_starts(Node& node, const graph::Shape& image, std::int64_t pixels) {
  HostArray first = filled(graph::Shape{image[0], image[1], 1, 1}, 0.0F);
  for (std::size_t i = 0; i < first.floats.size(); ++i)
    first.floats[i] = static_cast<float>(i) * static_cast<float>(pixels);
  return constant(node, std::move(first), ".pictures");
}

// Which element each maximum is, counted through all pictures: of all taps side by side the first that is largest.
Result<graph::TensorId> places_of_maxima(Node& node, const Pooled& given) {
  const graph::Shape& s = given.image.shape;
  const bool by_columns = node.attributes.integer("storage_order", 0) != 0;
  SLUICE_ASSIGN(std::vector<std::int64_t> places, tap_places(node, given.sides));
  graph::Shape outputs = {s[0], s[1]};
  std::int64_t taps = 1;
  for (const Side& side : given.sides) {
    outputs.push_back(side.outputs());
    taps *= side.kernel;
  }
  SLUICE_RETURN_IF_ERROR(keep_within(node, places, as_index(taps)));
  const std::int64_t count = std::ssize(places) / taps;
  HostArray names = filled(graph::Shape{count, taps}, 0.0F);
  for (std::size_t i = 0; i < places.size(); ++i) {
    names.floats[i] = static_cast<float>(by_columns ? columns_first(places[i], given.sides) : places[i]);
  }
  const std::int64_t pixels = graph::element_count(spatial_part(s));
  SLUICE_ASSIGN(const graph::TensorId seen,
                take_along(node, reshape_to(node, given.image.x, {s[0], s[1], pixels}), 2, places));
  SLUICE_ASSIGN(const graph::TensorId marks,
                mark_largest(node, reshape_to(node, seen, {s[0], s[1], count, taps}), 3, false));
  SLUICE_ASSIGN(const graph::TensorId named, constant(node, std::move(names), ".places"));
  SLUICE_ASSIGN(const graph::TensorId chosen, combine(node, graph::BinaryFunction::kMultiply, marks, named));
  SLUICE_ASSIGN(const graph::TensorId starts, picture_starts(node, s, pixels));
  SLUICE_ASSIGN(
      const graph::TensorId all,
      combine(node, graph::BinaryFunction::kAdd, reduce_over(node, graph::ReduceFunction::kSum, chosen, {3}), starts));
  return reshape_to(node, all, outputs);
}

Status convert_max_pool(Node& node) {
  SLUICE_ASSIGN(Pooled given, pooled(node));
  SLUICE_RETURN_IF_ERROR(put_zeros_around(node, given));  // they count in a maximum
  node.attributes.ignore("storage_order");                // of the indices
  if (node.proto.output_size() > 1 && node.conversion.is_read(node.proto.output(1))) {
    SLUICE_ASSIGN(const graph::TensorId places, places_of_maxima(node, given));
    node.set_integral(places, 1);
  }
  graph::TensorId y = -1;
  if (is_dilated(given.sides)) {
    SLUICE_ASSIGN(y, dilated_maximum(node, unflattened(node, given.image), given.sides));
    node.set(y);
    return {};
  }
  if (given.sides.size() == 3) {
    SLUICE_ASSIGN(y, deep_maximum(node, given.image.x, given.image.shape, given.sides));
  } else {
    SLUICE_ASSIGN(y, pool(node, graph::OpKind::kMaxPool, given.image.x, window_of(given.sides)));
  }
  node.set(like_image(node, given.image, y));
  return {};
}

// Row by output: its taps, each by `weight(taps that count)`.
template <typename Weight>
graph::SparseMatrix taps_of(const Side& side, bool count_padding, const Weight& weight) {
  graph::SparseMatrix matrix;
  matrix.columns = side.extent;
  for (std::int64_t output = 0; output < side.outputs(); ++output) {
    std::int64_t counted = 0;
    for (std::int64_t tap = 0; tap < side.kernel; ++tap) {
      const std::int64_t place = side.place(output, tap);
      const bool in_file = place >= -side.before && place < side.extent + side.after - side.rounding;
      if (side.holds(place) || (count_padding && in_file)) ++counted;
    }
    for (std::int64_t tap = 0; tap < side.kernel; ++tap) {
      const std::int64_t place = side.place(output, tap);
      if (side.holds(place)) matrix.add_term(place, weight(counted));
    }
    matrix.end_row();
  }
  return matrix;
}

Result<graph::TensorId> weighted_taps(Node& node, graph::TensorId x, const Sides& sides, bool count_padding,
                                      bool mean) {
  for (std::size_t d = 0; d < sides.size(); ++d) {
    SLUICE_RETURN_IF_ERROR(check_terms(node, sides[d].outputs(), sides[d].kernel));
    const auto weight = [&](std::int64_t counted) { return mean ? 1 / static_cast<float>(counted) : 1.0F; };
    SLUICE_ASSIGN(x, multiply_along(node, x, as_id<std::int64_t>(d) + 2, taps_of(sides[d], count_padding, weight)));
  }
  return x;
}

// Zeros of a Pad before count in the mean. The window takes them as its own only where it has no padding that may not.
Status convert_average_pool(Node& node) {
  SLUICE_ASSIGN(Pooled given, pooled(node));
  const bool counts = node.attributes.integer("count_include_pad", 0) != 0;
  const bool padded = std::any_of(given.sides.begin(), given.sides.end(),
                                  [](const Side& side) { return side.before + side.after > 0; });
  if (padded || node.attributes.integer("ceil_mode", 0) != 0 || is_dilated(given.sides)) {
    SLUICE_RETURN_IF_ERROR(put_zeros_around(node, given));
  }
  const bool rounded =
      std::any_of(given.sides.begin(), given.sides.end(), [](const Side& side) { return side.rounding > 0; });
  if ((counts && rounded) || given.sides.size() == 3 || is_dilated(given.sides)) {
    SLUICE_ASSIGN(const graph::TensorId y,
                  weighted_taps(node, unflattened(node, given.image), given.sides, counts, true));
    node.set(y);
    return {};
  }
  graph::PoolAttributes attributes;
  attributes.window = window_of(given.sides, given.image.padding);
  attributes.count_padding = counts || given.image.padded();
  SLUICE_ASSIGN(const graph::TensorId y, node.add(graph::OpKind::kAvgPool, attributes, {given.image.x}));
  node.set(like_image(node, given.image, y));
  return {};
}

// (sum of |x|^p)^(1 / p), by `sum`.
template <typename Sum>
Status set_power_sum(Node& node, graph::TensorId x, const Sum& sum) {
  const std::int64_t p = node.attributes.integer("p", 2);
  if (p < 1 || p > 64) return node.error(fmt::format("has a p of {}; it must be 1 to 64", p));
  graph::TensorId powers = apply(node, graph::UnaryFunction::kAbs, x);
  if (p == 2) {
    SLUICE_ASSIGN(powers, combine(node, graph::BinaryFunction::kMultiply, x, x));
  } else if (p > 2) {
    powers = apply(node, graph::UnaryFunction::kPower, powers, static_cast<float>(p));
  }
  SLUICE_ASSIGN(graph::TensorId y, sum(powers));
  if (p > 1) {
    SLUICE_ASSIGN(y, root_of(node, y, p));
  }
  node.set(y);
  return {};
}

Status convert_power_pool(Node& node) {
  SLUICE_ASSIGN(Pooled given, pooled(node));
  SLUICE_RETURN_IF_ERROR(put_zeros_around(node, given));
  return set_power_sum(node, unflattened(node, given.image),
                       [&](graph::TensorId powers) { return weighted_taps(node, powers, given.sides, false, false); });
}

std::vector<std::int64_t> spatial_axes(std::size_t rank) {
  std::vector<std::int64_t> axes(rank < 2 ? 0 : rank - 2);
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

Status convert_global_power_pool(Node& node) {
  SLUICE_ASSIGN(const graph::TensorId x, node.tensor(0));
  if (node.builder.failed()) return {};
  const auto axes = spatial_axes(node.builder.shape(x).size());
  return set_power_sum(node, x, [&](graph::TensorId powers) -> Result<graph::TensorId> {
    return reduce_over(node, graph::ReduceFunction::kSum, powers, axes);
  });
}

Status convert_global_pool(Node& node, graph::OpKind kind) {
  SLUICE_ASSIGN(const graph::TensorId given, node.tensor(0));
  SLUICE_ASSIGN(Image image, image_of(node));
  if (image.dimensions() == 3) {
    const auto function =
        kind == graph::OpKind::kAvgPool ? graph::ReduceFunction::kMean : graph::ReduceFunction::kMaximum;
    node.set(reduce_over(node, function, given, spatial_axes(5)));
    return {};
  }
  if (!image.flat) image.x = given;
  const graph::Shape& shape = node.builder.shape(image.x);
  graph::Window window;
  window.kernel_h = shape[2];
  window.kernel_w = shape[3];
  SLUICE_ASSIGN(const graph::TensorId y, pool(node, kind, image.x, window));
  node.set(like_image(node, image, y));
  return {};
}

Status convert_global_average_pool(Node& node) { return convert_global_pool(node, graph::OpKind::kAvgPool); }
Status convert_global_max_pool(Node& node) { return convert_global_pool(node, graph::OpKind::kMaxPool); }

}  // namespace

void add_pooling_converters(ConverterTable& table) {
  table["MaxPool"] = {convert_max_pool, "one to three dimensions"};
  table["AveragePool"] = {convert_average_pool, "one to three dimensions"};
  table["LpPool"] = {convert_power_pool, "one to three dimensions"};
  table["GlobalAveragePool"] = convert_global_average_pool;
  table["GlobalMaxPool"] = convert_global_max_pool;
  table["GlobalLpPool"] = convert_global_power_pool;
}

}  // namespace sluice::onnx
