// Padding: zeros around an image are left to the convolution or pooling that reads it; the rest is a product along each
// axis that is padded, or cut where a pad is negative.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/convert/tensor_ops.hpp"

namespace sluice::onnx {
namespace {

constexpr std::int64_t kLargestPad = 1 << 20;

struct Padding {
  std::string mode;
  std::vector<std::int64_t> before, after;  // by axis of x
  float value = 0;
};

Result<Padding> padding_of(Node& node, std::size_t rank) {
  Padding padding;
  padding.mode = node.attributes.text("mode", "constant");
  padding.value = node.attributes.real("value", 0);
  std::vector<std::int64_t> pads = node.attributes.integers("pads").value_or(std::vector<std::int64_t>{});
  std::vector<std::int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (node.has(1)) {
    SLUICE_ASSIGN(pads, node.integers(1));
  }
  if (node.has(2)) {
    SLUICE_ASSIGN(const HostArray given, node.array(2));
    if (given.count() != 1) return node.error("needs one number to pad with");
    padding.value = static_cast<float>(given.at(0));
  }
  if (node.has(3)) {
    SLUICE_ASSIGN(axes, node.integers(3));
  }
  const auto sane = [](std::int64_t pad) { return pad >= -kLargestPad && pad <= kLargestPad; };
  if (pads.size() != 2 * axes.size() || !std::all_of(pads.begin(), pads.end(), sane)) {
    return node.error("needs two pads of at most a million for each axis");
  }
  padding.before.assign(rank, 0);
  padding.after.assign(rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    SLUICE_ASSIGN(const std::int64_t axis, positive_axis(axes[i], rank));
    padding.before[as_index(axis)] = pads[i];
    padding.after[as_index(axis)] = pads[axes.size() + i];
  }
  return padding;
}

// Which element of an axis stands at a place beyond its ends; -1: the number.
std::int64_t element_at(const std::string& mode, std::int64_t place, std::int64_t extent) {
  if (place >= 0 && place < extent) return place;
  if (mode == "constant") return -1;
  if (mode == "edge" || extent == 1) return place < 0 ? 0 : extent - 1;
  if (mode == "wrap") return (place % extent + extent) % extent;
  const std::int64_t period = 2 * (extent - 1);
  const std::int64_t within = (place % period + period) % period;
  return within < extent ? within : period - within;
}

std::vector<std::int64_t> places_along(const Padding& padding, std::size_t axis, std::int64_t extent) {
  std::vector<std::int64_t> places;
  for (std::int64_t place = -padding.before[axis]; place < extent + padding.after[axis]; ++place) {
    places.push_back(element_at(padding.mode, place, extent));
  }
  return places;
}

// The number where it is padded, 0 elsewhere.
Result<graph::TensorId> with_number_around(Node& node, graph::TensorId padded, const Padding& padding,
                                           const graph::Shape& x) {
  const graph::Shape shape = node.builder.shape(padded);
  if (!checked_count(shape, kMostArrayElements)) return node.error("pads a large tensor with a number");
  HostArray added = filled(shape, padding.value);
  const std::vector<std::int64_t> strides = strides_of(shape);
  for (std::int64_t i = 0; i < added.count(); ++i) {
    bool inside = true;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::int64_t place = i / strides[d] % shape[d] - padding.before[d];
      inside = inside && place >= 0 && place < x[d];
    }
    if (inside) added.floats[as_index(i)] = 0;
  }
  SLUICE_ASSIGN(const graph::TensorId around, constant(node, std::move(added), ".around"));
  return combine(node, graph::BinaryFunction::kAdd, padded, around);
}

// Zeros around an image, as its next reader wants them.
bool left_to_reader(Node& node, const Padding& padding, const graph::Shape& x) {
  const auto outward = [](std::int64_t pad) { return pad >= 0; };
  const bool zeros = padding.mode == "constant" && padding.value == 0 &&
                     std::all_of(padding.before.begin(), padding.before.end(), outward) &&
                     std::all_of(padding.after.begin(), padding.after.end(), outward);
  const bool image = x.size() == 4 && padding.before[0] + padding.before[1] + padding.after[0] + padding.after[1] == 0;
  if (!zeros || !image) return false;
  return node.only_reader("AveragePool") != nullptr || node.only_reader("Conv") != nullptr;
}

// Errors: nothing left, or more than any machine holds.
Status check_padded(Node& node, const Padding& padding, graph::Shape shape) {
  for (std::size_t d = 0; d < shape.size(); ++d) {
    shape[d] += padding.before[d] + padding.after[d];
    if (shape[d] < 1) return node.error(fmt::format("cuts all of axis {}", d));
  }
  if (checked_count(shape)) return {};
  return node.error(fmt::format("would make a tensor {}, which is larger than any machine", graph::to_string(shape)));
}

Status convert_pad(Node& node) {
  SLUICE_ASSIGN(graph::TensorId y, node.tensor(0));
  if (node.builder.failed()) return {};
  const graph::Shape x = node.builder.shape(y);
  SLUICE_ASSIGN(const Padding padding, padding_of(node, x.size()));
  const auto& mode = padding.mode;
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap") {
    return node.error(fmt::format("needs the attribute mode to be constant, edge, reflect or wrap, not {}", mode));
  }
  SLUICE_RETURN_IF_ERROR(check_padded(node, padding, x));
  if (left_to_reader(node, padding, x)) {
    Value value = tensor_value(y);
    value.padding = {padding.before[2], padding.before[3], padding.after[2], padding.after[3]};
    node.set(value);
    return {};
  }
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    if (padding.before[axis] == 0 && padding.after[axis] == 0) continue;
    SLUICE_RETURN_IF_ERROR(check_terms(node, x[axis], 1));
    SLUICE_ASSIGN(y, take_along(node, y, as_id<std::int64_t>(axis), places_along(padding, axis, x[axis])));
  }
  if (mode == "constant" && padding.value != 0 && !node.builder.failed()) {
    SLUICE_ASSIGN(y, with_number_around(node, y, padding, x));
  }
  node.set(y);
  return {};
}

// Cut or padded with zeros to a shape, around the middle.
Status convert_center_crop_pad(Node& node) {
  SLUICE_ASSIGN(graph::TensorId y, node.tensor(0));
  if (node.builder.failed()) return {};
  const graph::Shape x = node.builder.shape(y);
  SLUICE_ASSIGN(const std::vector<std::int64_t> wanted, node.integers(1));
  std::vector<std::int64_t> all(x.size());
  std::iota(all.begin(), all.end(), 0);
  const auto axes = node.attributes.integers("axes").value_or(all);
  if (axes.size() != wanted.size()) return node.error("needs an extent for each axis");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    SLUICE_ASSIGN(const std::int64_t axis, positive_axis(axes[i], x.size()));
    const std::int64_t extent = x[as_index(axis)];
    if (wanted[i] < 1 || wanted[i] > extent + 2 * kLargestPad) return node.error("asks for an impossible extent");
    SLUICE_RETURN_IF_ERROR(check_terms(node, extent, 1));
    Padding padding{"constant", std::vector<std::int64_t>(x.size(), 0), std::vector<std::int64_t>(x.size(), 0)};
    const std::int64_t more = wanted[i] - extent;
    padding.before[as_index(axis)] = more >= 0 ? more / 2 : -(-more / 2);
    padding.after[as_index(axis)] = more - padding.before[as_index(axis)];
    SLUICE_ASSIGN(y, take_along(node, y, axis, places_along(padding, as_index(axis), extent)));
  }
  node.set(y);
  return {};
}

}  // namespace

void add_padding_converters(ConverterTable& table) {
  table["Pad"] = convert_pad;
  table["CenterCropPad"] = convert_center_crop_pad;
}

}  // namespace sluice::onnx
