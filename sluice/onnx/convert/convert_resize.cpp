// Resizing: along each axis every output is a weighted sum of a few inputs, a row of a sparse matrix.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/convert/tensor_ops.hpp"

namespace sluice::onnx {
namespace {

constexpr double kLargestRegion = 1 << 20;  // of places in a roi, in extents

struct ResizeMode {
  std::string mode = "nearest", transformation = "half_pixel", nearest = "round_prefer_floor";
  float cubic_a = -0.75F, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
};

// One axis: its extents, the scale, and the region that tf_crop_and_resize looks at.
struct ResizedAxis {
  std::int64_t from = 1, to = 1;
  double scale = 1, start = 0, end = 1;
};

double place_in(const ResizeMode& mode, const ResizedAxis& axis, std::int64_t output) {
  const auto at = static_cast<double>(output);
  const auto [from, to] = std::pair(static_cast<double>(axis.from), static_cast<double>(axis.to));
  if (mode.transformation == "asymmetric") return at / axis.scale;
  if (mode.transformation == "align_corners") {  // by the extent before it is rounded, as ONNX' own tests want it
    return axis.to == 1 ? 0 : at * (from - 1) / (axis.scale * from - 1);
  }
  if (mode.transformation == "pytorch_half_pixel") return axis.to > 1 ? (at + 0.5) / axis.scale - 0.5 : 0;
  if (mode.transformation == "tf_half_pixel_for_nn") return (at + 0.5) / axis.scale;
  if (mode.transformation == "tf_crop_and_resize") {
    if (axis.to == 1) return 0.5 * (axis.start + axis.end) * (from - 1);
    return axis.start * (from - 1) + at * (axis.end - axis.start) * (from - 1) / (to - 1);
  }
  if (mode.transformation == "half_pixel_symmetric") {
    const double adjustment = to / (axis.scale * from);  // of the rounded extent
    return from / 2 * (1 - adjustment) + (at + 0.5) / axis.scale - 0.5;
  }
  return (at + 0.5) / axis.scale - 0.5;
}

double nearest_to(const std::string& rounding, double place) {
  double nearest = std::floor(place + 0.5);
  if (rounding == "floor") nearest = std::floor(place);
  if (rounding == "ceil") nearest = std::ceil(place);
  if (rounding == "round_prefer_floor") nearest = std::ceil(place - 0.5);
  return nearest;
}

// The weight of an input at a distance from the place, in inputs.
double weight_at(const ResizeMode& mode, double distance) {
  const double d = std::abs(distance);
  if (mode.mode == "linear") return std::max(1 - d, 0.0);
  const double a = mode.cubic_a;
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

// Of inputs beyond the ends, the last one stands there instead, or nothing. Where a filter shrinks, it is as much wider.
void add_filter(const ResizeMode& mode, const ResizedAxis& axis, double place, graph::SparseMatrix& matrix) {
  const double widened = mode.antialias ? std::max(1 / axis.scale, 1.0) : 1.0;
  const double reach = (mode.mode == "linear" ? 1 : 2) * widened;
  const auto first = static_cast<std::int64_t>(std::ceil(place - reach));
  const auto last = static_cast<std::int64_t>(std::floor(place + reach));
  std::map<std::int64_t, double> weights;
  double sum = 0;
  for (std::int64_t input = first; input <= last; ++input) {
    const bool outside = input < 0 || input >= axis.from;
    const double weight = weight_at(mode, (static_cast<double>(input) - place) / widened);
    if ((outside && mode.exclude_outside) || weight == 0) continue;
    weights[std::clamp<std::int64_t>(input, 0, axis.from - 1)] += weight;
    sum += weight;
  }
  for (const auto& [input, weight] : weights) matrix.add_term(input, static_cast<float>(weight / sum));
}

bool is_beyond(const ResizeMode& mode, const ResizedAxis& axis, double place) {
  return mode.transformation == "tf_crop_and_resize" && (place < 0 || place > static_cast<double>(axis.from - 1));
}

graph::SparseMatrix matrix_of(const ResizeMode& mode, const ResizedAxis& axis) {
  graph::SparseMatrix matrix;
  matrix.columns = axis.from;
  for (std::int64_t output = 0; output < axis.to; ++output) {
    const double place = place_in(mode, axis, output);
    if (is_beyond(mode, axis, place)) {
      matrix.end_row();
      continue;
    }
    if (mode.mode == "nearest") {
      const auto last = static_cast<double>(axis.from - 1);
      matrix.add_term(static_cast<std::int64_t>(std::clamp(nearest_to(mode.nearest, place), 0.0, last)), 1);
    } else {
      add_filter(mode, axis, place, matrix);
    }
    matrix.end_row();
  }
  return matrix;
}

Result<ResizeMode> mode_of(Node& node) {
  ResizeMode mode;
  NodeAttributes& attributes = node.attributes;
  mode.mode = attributes.text("mode", "nearest");
  const bool old = node.opset() < 11;  // before, places were asymmetric and rounded down
  if (old) mode.transformation = "asymmetric";
  if (old) mode.nearest = "floor";
  mode.transformation = attributes.text("coordinate_transformation_mode", mode.transformation);
  mode.nearest = attributes.text("nearest_mode", mode.nearest);
  mode.cubic_a = attributes.real("cubic_coeff_a", -0.75F);
  mode.extrapolation = attributes.real("extrapolation_value", 0);
  mode.exclude_outside = attributes.integer("exclude_outside", 0) != 0;
  mode.antialias = attributes.integer("antialias", 0) != 0;
  if (mode.mode == "bilinear") mode.mode = "linear";
  const std::set<std::string> modes = {"nearest", "linear", "cubic"};
  const std::set<std::string> roundings = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  const std::set<std::string> places = {"half_pixel",          "asymmetric",         "align_corners",
                                        "pytorch_half_pixel",  "tf_crop_and_resize", "tf_half_pixel_for_nn",
                                        "half_pixel_symmetric"};
  if (!modes.contains(mode.mode)) return node.error(fmt::format("has the mode {}", mode.mode));
  if (!roundings.contains(mode.nearest)) return node.error(fmt::format("has the nearest_mode {}", mode.nearest));
  if (!places.contains(mode.transformation)) {
    return node.error(fmt::format("has the coordinate_transformation_mode {}", mode.transformation));
  }
  return mode;
}

struct ResizeInputs {
  std::vector<double> scales, roi;
  std::vector<std::int64_t> sizes;
};

// Resize-10 and Upsample have (x, scales), Resize from 11 on (x, roi, scales, sizes).
Result<ResizeInputs> resize_inputs(Node& node) {
  ResizeInputs given;
  const bool old = node.opset() < 11 || node.proto.op_type() == "Upsample";
  const auto numbers = [&](int input, std::vector<double>& values) -> Status {
    if (!node.has(input)) return {};
    SLUICE_ASSIGN(const HostArray array, node.array(input));
    for (std::int64_t i = 0; i < array.count(); ++i) values.push_back(array.at(i));
    return {};
  };
  SLUICE_RETURN_IF_ERROR(numbers(old ? 1 : 2, given.scales));
  if (old) return given;
  SLUICE_RETURN_IF_ERROR(numbers(1, given.roi));
  const auto sane = [](double place) { return std::abs(place) <= kLargestRegion; };
  if (!std::all_of(given.roi.begin(), given.roi.end(), sane)) return node.error("has an impossible roi");
  if (node.has(3)) {
    SLUICE_ASSIGN(given.sizes, node.integers(3));
  }
  return given;
}

Result<std::int64_t> checked_extent(Node& node, double to) {
  if (!(to >= 1 && to <= static_cast<double>(kMostMatrixTerms))) return node.error("asks for an impossible extent");
  return static_cast<std::int64_t>(to);
}

// Sizes that keep the picture's proportions, from opset 18 on.
Status keep_proportions(Node& node, const std::string& policy, std::vector<ResizedAxis>& axes,
                        const std::vector<std::size_t>& which) {
  if (policy == "stretch") return {};
  if (policy != "not_larger" && policy != "not_smaller") {
    return node.error(fmt::format("has the keep_aspect_ratio_policy {}", policy));
  }
  double scale = axes[which[0]].scale;
  for (const std::size_t d : which) {
    scale = policy == "not_larger" ? std::min(scale, axes[d].scale) : std::max(scale, axes[d].scale);
  }
  for (const std::size_t d : which) {
    axes[d].scale = scale;
    SLUICE_ASSIGN(axes[d].to, checked_extent(node, std::floor(scale * static_cast<double>(axes[d].from) + 0.5)));
  }
  return {};
}

Result<std::vector<ResizedAxis>> resized_axes(Node& node, const graph::Shape& x, const ResizeInputs& given) {
  std::vector<ResizedAxis> axes(x.size());
  std::vector<std::size_t> which;
  if (const auto stated = node.attributes.integers("axes")) {
    for (const std::int64_t axis : *stated) {
      SLUICE_ASSIGN(const std::int64_t positive, positive_axis(axis, x.size()));
      which.push_back(as_index(positive));
    }
  } else {
    for (std::size_t d = 0; d < x.size(); ++d) which.push_back(d);
  }
  const bool by_size = !given.sizes.empty();
  const std::size_t count = by_size ? given.sizes.size() : given.scales.size();
  if (count != which.size() || which.empty()) return node.error("needs a scale or a size for each axis");
  for (std::size_t d = 0; d < x.size(); ++d) axes[d].from = axes[d].to = x[d];
  for (std::size_t i = 0; i < which.size(); ++i) {
    ResizedAxis& axis = axes[which[i]];
    const auto from = static_cast<double>(axis.from);
    axis.scale = by_size ? static_cast<double>(given.sizes[i]) / from : given.scales[i];
    const double to = by_size ? static_cast<double>(given.sizes[i]) : std::floor(from * axis.scale + 1e-6);
    SLUICE_ASSIGN(axis.to, checked_extent(node, to));
    if (given.roi.size() == 2 * which.size()) {
      axis.start = given.roi[i];
      axis.end = given.roi[which.size() + i];
    }
  }
  const std::string policy = node.attributes.text("keep_aspect_ratio_policy", "stretch");
  if (by_size) SLUICE_RETURN_IF_ERROR(keep_proportions(node, policy, axes, which));
  return axes;
}

// The extrapolation value wherever an axis looks beyond its ends.
Result<graph::TensorId> with_extrapolation(Node& node, graph::TensorId y, const ResizeMode& mode,
                                           const std::vector<ResizedAxis>& axes) {
  const graph::Shape shape = node.builder.shape(y);
  if (!checked_count(shape, kMostArrayElements)) return node.error("extrapolates a very large tensor");
  HostArray added = filled(shape, 0.0F);
  const std::vector<std::int64_t> strides = strides_of(shape);
  for (std::int64_t i = 0; i < added.count(); ++i) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (is_beyond(mode, axes[d], place_in(mode, axes[d], i / strides[d] % shape[d]))) {
        added.floats[as_index(i)] = mode.extrapolation;
      }
    }
  }
  SLUICE_ASSIGN(const graph::TensorId around, constant(node, std::move(added), ".extrapolated"));
  return combine(node, graph::BinaryFunction::kAdd, y, around);
}

Status convert_resize(Node& node) {
  SLUICE_ASSIGN(graph::TensorId y, node.tensor(0));
  if (node.builder.failed()) return {};
  const graph::Shape x = node.builder.shape(y);
  SLUICE_ASSIGN(const ResizeMode mode, mode_of(node));
  SLUICE_ASSIGN(const ResizeInputs given, resize_inputs(node));
  SLUICE_ASSIGN(const std::vector<ResizedAxis> axes, resized_axes(node, x, given));
  const bool crops = mode.transformation == "tf_crop_and_resize";
  for (std::size_t d = 0; d < x.size(); ++d) {
    const bool same =
        axes[d].from == axes[d].to && (crops ? axes[d].start == 0 && axes[d].end == 1 : axes[d].scale == 1);
    if (same) continue;
    SLUICE_RETURN_IF_ERROR(check_terms(node, axes[d].from, 4));
    SLUICE_RETURN_IF_ERROR(check_terms(node, axes[d].to, mode.mode == "nearest" ? 1 : 4));
    SLUICE_ASSIGN(y, multiply_along(node, y, as_id<std::int64_t>(d), matrix_of(mode, axes[d])));
  }
  if (crops && mode.extrapolation != 0 && !node.builder.failed()) {
    SLUICE_ASSIGN(y, with_extrapolation(node, y, mode, axes));
  }
  node.set(y);
  return {};
}

}  // namespace

void add_resize_converters(ConverterTable& table) {
  table["Resize"] = {convert_resize, "nearest, linear, cubic"};
  table["Upsample"] = convert_resize;
}

}  // namespace sluice::onnx
