#include "sluice/onnx/convert/spatial.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/convert/tensor_ops.hpp"

namespace sluice::onnx {
namespace {

constexpr std::int64_t kLargestWindow = 1 << 20;  // of kernel, stride, dilation and padding

bool in_range(const std::vector<std::int64_t>& values, std::size_t count, std::int64_t least) {
  return values.size() == count && std::all_of(values.begin(), values.end(), [&](std::int64_t value) {
           return value >= least && value <= kLargestWindow;
         });
}

std::vector<std::int64_t> or_all(std::optional<std::vector<std::int64_t>> values, std::size_t count,
                                 std::int64_t each) {
  return values ? std::move(*values) : std::vector<std::int64_t>(count, each);
}

bool pads_to_same(const std::string& auto_pad) { return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER"; }

void pad_automatically(const std::string& mode, Side& side) {
  if (!pads_to_same(mode)) return;
  const std::int64_t outputs = (side.extent + side.stride - 1) / side.stride;
  const std::int64_t padding = std::max<std::int64_t>((outputs - 1) * side.stride + side.reach() - side.extent, 0);
  side.before = mode == "SAME_UPPER" ? padding / 2 : padding - padding / 2;
  side.after = padding - side.before;
}

// The padding below that makes room for one more window where the last stride did not fit; a window that would start
// in that padding is left out, as PyTorch does.
std::int64_t rounding_padding(const Side& side) {
  const std::int64_t room = side.extent + side.before + side.after - side.reach();
  if (room < 0) return 0;
  const std::int64_t last = (room + side.stride - 1) / side.stride * side.stride;  // where the last window starts
  return last >= side.extent + side.before ? 0 : std::max<std::int64_t>(last - room, 0);
}

}  // namespace

Result<Sides> read_sides(Node& node, const std::vector<std::int64_t>& kernel, const graph::Shape& shape) {
  const std::size_t rank = kernel.size();
  NodeAttributes& attributes = node.attributes;
  const auto strides = or_all(attributes.integers("strides"), rank, 1);
  const auto dilations = or_all(attributes.integers("dilations"), rank, 1);
  const auto pads = or_all(attributes.integers("pads"), 2 * rank, 0);
  const std::string auto_pad = attributes.text("auto_pad", "NOTSET");
  const bool ceil = attributes.integer("ceil_mode", 0) != 0;
  if (auto_pad != "NOTSET" && auto_pad != "VALID" && !pads_to_same(auto_pad)) {
    return node.error(fmt::format("has the auto_pad {}", auto_pad));
  }
  const bool sane = rank >= 1 && rank <= 3 && shape.size() == rank + 2 && in_range(kernel, rank, 1) &&
                    in_range(strides, rank, 1) && in_range(dilations, rank, 1) && in_range(pads, 2 * rank, 0);
  if (!sane) {
    return node.error(
        fmt::format("needs kernels, strides, dilations and paddings for each of one to three dimensions of x {}, of at "
                    "least 1 (padding: 0) and at most a million",
                    graph::to_string(shape)));
  }
  Sides sides;
  for (std::size_t d = 0; d < rank; ++d) {
    Side side{shape[2 + d], kernel[d], strides[d], dilations[d], pads[d], pads[rank + d]};
    pad_automatically(auto_pad, side);
    side.rounding = ceil ? rounding_padding(side) : 0;
    side.after += side.rounding;
    sides.push_back(side);
  }
  return sides;
}

Result<std::vector<std::int64_t>> tap_places(Node& node, const Sides& sides) {
  std::int64_t outputs = 1, taps = 1;
  for (const Side& side : sides) {
    SLUICE_RETURN_IF_ERROR(check_terms(node, outputs, side.outputs()));
    SLUICE_RETURN_IF_ERROR(check_terms(node, taps, side.kernel));
    outputs *= side.outputs();
    taps *= side.kernel;
  }
  SLUICE_RETURN_IF_ERROR(check_terms(node, outputs, taps));
  std::vector<std::int64_t> places;
  for (std::int64_t row = 0; row < outputs * taps; ++row) {
    std::int64_t output = row / taps, tap = row % taps, place = 0, stride = 1;
    bool inside = true;
    for (std::size_t d = sides.size(); d-- > 0;) {
      const Side& side = sides[d];
      const std::int64_t at = side.place(output % side.outputs(), tap % side.kernel);
      inside = inside && side.holds(at);
      place += at * stride;
      stride *= side.extent;
      output /= side.outputs();
      tap /= side.kernel;
    }
    places.push_back(inside ? place : -1);
  }
  return places;
}

std::int64_t columns_first(std::int64_t place, const Sides& sides) {
  std::int64_t pixels = 1;
  for (const Side& side : sides) pixels *= side.extent;
  std::int64_t name = 0;
  for (std::size_t d = sides.size(); d-- > 0;) {
    pixels /= sides[d].extent;
    name += place % sides[d].extent * pixels;
    place /= sides[d].extent;
  }
  return name;
}

Status keep_within(Node& node, std::vector<std::int64_t>& places, std::size_t taps) {
  for (std::size_t first = 0; first < places.size(); first += taps) {
    const auto begin = iterator_at(places, first);
    const auto end = begin + static_cast<std::ptrdiff_t>(taps);
    const auto own = std::find_if(begin, end, [](std::int64_t place) { return place >= 0; });
    if (own == end) return node.error("has a window that sees nothing but padding");
    std::replace(begin, end, std::int64_t{-1}, std::int64_t{*own});
  }
  return {};
}

graph::Window window_of(const Sides& sides, const std::array<std::int64_t, 4>& extra) {
  const Side vertical = sides.size() == 2 ? sides[0] : Side{};
  const Side& horizontal = sides.back();
  return {vertical.kernel,
          horizontal.kernel,
          vertical.stride,
          horizontal.stride,
          vertical.dilation,
          horizontal.dilation,
          vertical.before + extra[0],
          horizontal.before + extra[1],
          vertical.after + extra[2],
          horizontal.after + extra[3]};
}

Result<Image> image_of(Node& node) {
  const Value value = node.value(0);
  Image image;
  const bool left_to_do = !pads_to_same(node.attributes.text("auto_pad", "NOTSET"));  // else by the padded extents
  if (value.kind == Value::Kind::kTensor && !node.is_integral(0) && left_to_do) {
    image.x = value.tensor;
    image.padding = value.padding;
  } else {
    SLUICE_ASSIGN(image.x, node.tensor(0));
  }
  if (node.builder.failed()) return node.error("follows an op that failed");
  image.shape = node.builder.shape(image.x);
  if (image.shape.size() < 3 || image.shape.size() > 5) {
    return node.error(
        fmt::format("needs an image [N, C, ...] of one to three dimensions, got {}", graph::to_string(image.shape)));
  }
  image.flat = image.shape.size() == 3;
  if (image.flat) image.x = reshape_to(node, image.x, {image.shape[0], image.shape[1], 1, image.shape[2]});
  return image;
}

graph::TensorId like_image(Node& node, const Image& image, graph::TensorId y) {
  if (!image.flat || node.builder.failed()) return y;
  const graph::Shape shape = node.builder.shape(y);
  return reshape_to(node, y, {shape[0], shape[1], shape[3]});
}

std::vector<std::int64_t> spatial_part(const graph::Shape& shape) { return {shape.begin() + 2, shape.end()}; }

}  // namespace sluice::onnx
