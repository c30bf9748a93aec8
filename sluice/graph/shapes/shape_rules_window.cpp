#include <fmt/format.h>

#include "sluice/graph/shapes/shape_rule.hpp"

namespace sluice::graph {
namespace {

// A window along one dimension of an image. `after` may be negative for transposed convolutions only: pixels below the
// last window.
struct Side {
  std::int64_t kernel, stride, dilation, before, after;
  std::int64_t reach() const { return dilation * (kernel - 1) + 1; }
};

Side vertical(const Window& w) { return {w.kernel_h, w.stride_h, w.dilation_h, w.pad_top, w.pad_bottom}; }
Side horizontal(const Window& w) { return {w.kernel_w, w.stride_w, w.dilation_w, w.pad_left, w.pad_right}; }

Status expect_window(const ShapeRule& rule, const Side& side) {
  const std::int64_t least_after = rule.kind == OpKind::kConvTranspose2d ? 1 - side.stride : 0;
  if (side.kernel < 1 || side.stride < 1 || side.dilation < 1 || side.before < 0 || side.after < least_after) {
    return rule.error(
        fmt::format("expects kernel, stride and dilation of at least 1 and no negative padding, got kernel {}, stride "
                    "{}, dilation {}, padding {} and {}",
                    side.kernel, side.stride, side.dilation, side.before, side.after));
  }
  return {};
}

Result<std::int64_t> window_count(const ShapeRule& rule, std::int64_t extent, const Side& side) {
  SLUICE_RETURN_IF_ERROR(expect_window(rule, side));
  const std::int64_t padding = side.before + side.after;
  if (extent + padding < side.reach()) {
    return rule.error(fmt::format("expects an image of at least {} pixels a side for kernel {} and padding {}, got {}",
                                  side.reach() - padding, side.kernel, side.before, extent));
  }
  return (extent + padding - side.reach()) / side.stride + 1;
}

Result<Shape> windows(const ShapeRule& rule, const Window& window, std::int64_t channels) {
  const Shape& x = rule.inputs[0];
  SLUICE_ASSIGN(const std::int64_t height, window_count(rule, x[2], vertical(window)));
  SLUICE_ASSIGN(const std::int64_t width, window_count(rule, x[3], horizontal(window)));
  return Shape{x[0], channels, height, width};
}

Result<std::int64_t> spread(const ShapeRule& rule, std::int64_t extent, const Side& side) {
  SLUICE_RETURN_IF_ERROR(expect_window(rule, side));
  const std::int64_t made = (extent - 1) * side.stride + side.reach() - side.before - side.after;
  if (made < 1) return rule.error(fmt::format("padding {} leaves nothing of {} pixels", side.before, extent));
  return made;
}

Result<Shape> spread_windows(const ShapeRule& rule, const Window& window, std::int64_t channels) {
  const Shape& x = rule.inputs[0];
  SLUICE_ASSIGN(const std::int64_t height, spread(rule, x[2], vertical(window)));
  SLUICE_ASSIGN(const std::int64_t width, spread(rule, x[3], horizontal(window)));
  return Shape{x[0], channels, height, width};
}

// A window of padding alone would have no mean and no maximum.
Status expect_padding_below_kernel(const ShapeRule& rule, const Side& side) {
  if (side.before < side.reach() && side.after < side.reach()) return {};
  return rule.error(fmt::format("expects padding smaller than the kernel of {}, got {} and {}", side.reach(),
                                side.before, side.after));
}

}  // namespace

Result<Shapes> convolution_shapes(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(2, 3));
  SLUICE_RETURN_IF_ERROR(rule.expect_image(0));
  SLUICE_RETURN_IF_ERROR(rule.expect_rank(1, 4, "convolution weights"));
  const bool transposed = rule.kind == OpKind::kConvTranspose2d;
  const Shape& weight = rule.inputs[1];
  const std::int64_t channels = rule.inputs[0][1];
  const auto& [window, groups, activation] = rule.as<ConvolutionAttributes>();
  const std::int64_t out_channels = transposed ? weight[1] * groups : weight[0];
  if (groups < 1 || channels % groups != 0 || out_channels % groups != 0) {
    return rule.error(fmt::format("expects channels to be a multiple of the groups, got {} in, {} out, {} groups",
                                  channels, out_channels, groups));
  }
  const Shape expected = {transposed ? channels : out_channels, (transposed ? out_channels : channels) / groups,
                          window.kernel_h, window.kernel_w};
  SLUICE_RETURN_IF_ERROR(rule.expect_shape("weights", weight, expected));
  if (rule.inputs.size() == 3) SLUICE_RETURN_IF_ERROR(rule.expect_shape("bias", rule.inputs[2], {out_channels}));
  SLUICE_ASSIGN(Shape y, transposed ? spread_windows(rule, window, out_channels) : windows(rule, window, out_channels));
  return Shapes{std::move(y)};
}

Result<Shapes> pool_shapes(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(1, 1));
  SLUICE_RETURN_IF_ERROR(rule.expect_image(0));
  const Window& window = rule.as<PoolAttributes>().window;
  SLUICE_ASSIGN(const Shape y, windows(rule, window, rule.inputs[0][1]));
  SLUICE_RETURN_IF_ERROR(expect_padding_below_kernel(rule, vertical(window)));
  SLUICE_RETURN_IF_ERROR(expect_padding_below_kernel(rule, horizontal(window)));
  if (rule.kind == OpKind::kAvgPool) return Shapes{y};
  if (window.kernel_h * window.kernel_w > 255) {
    return rule.error(fmt::format("expects at most 255 pixels a window, because an index is one byte; got {}x{}",
                                  window.kernel_h, window.kernel_w));
  }
  return Shapes{y, y};
}

}  // namespace sluice::graph
