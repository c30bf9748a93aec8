#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/kernels/reference/reference_kernels.hpp"

namespace sluice::kernels {
namespace {

// Visits every output pixel, and for each the taps of its window that lie inside the image.
struct PoolingSpace {
  const graph::Shape& x;
  const graph::Shape& y;
  const graph::Window& window;

  // tap(output offset, input offset, position in the window)
  template <typename Tap>
  void for_each_tap(Tap tap) const {
    for (std::int64_t plane = 0; plane < y[0] * y[1]; ++plane)
      for (std::int64_t row = 0; row < y[2]; ++row)
        for (std::int64_t col = 0; col < y[3]; ++col)
          visit_window(plane, row, col, as_index((plane * y[2] + row) * y[3] + col), tap);
  }

  template <typename Tap>
  void visit_window(std::int64_t plane, std::int64_t row, std::int64_t col, std::size_t out, Tap& tap) const {
    for (std::int64_t kh = 0; kh < window.kernel_h; ++kh)
      for (std::int64_t kw = 0; kw < window.kernel_w; ++kw) {
        const std::int64_t in_row = row * window.stride_h - window.pad_top + kh * window.dilation_h;
        const std::int64_t in_col = col * window.stride_w - window.pad_left + kw * window.dilation_w;
        if (in_row < 0 || in_row >= x[2] || in_col < 0 || in_col >= x[3]) continue;
        tap(out, as_index((plane * x[2] + in_row) * x[3] + in_col), kh * window.kernel_w + kw);
      }
  }
};

// What each output pixel's sum is divided by: all taps of the window, or those inside the image.
std::vector<double> divisors(const PoolingSpace& space, const graph::PoolAttributes& attributes) {
  const graph::Window& window = attributes.window;
  const auto pixels = as_index(graph::element_count(space.y));
  if (attributes.count_padding)
    return std::vector<double>(pixels, static_cast<double>(window.kernel_h * window.kernel_w));
  std::vector<double> counts(pixels, 0.0);
  space.for_each_tap([&](std::size_t out, std::size_t, std::int64_t) { counts[out] += 1; });
  return counts;
}

// Equal values: the first in the window wins.
void max_pool(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto y = call.output<float>(0);
  const auto index = call.output<std::uint8_t>(1);
  std::vector<bool> seen(y.size(), false);
  PoolingSpace{call.input_shape(0), call.output_shape(0), call.as<graph::PoolAttributes>().window}.for_each_tap(
      [&](std::size_t out, std::size_t in, std::int64_t position) {
        if (seen[out] && x[in] <= y[out]) return;
        y[out] = x[in];
        index[out] = static_cast<std::uint8_t>(position);
        seen[out] = true;
      });
  if (call.as<graph::PoolAttributes>().activation != graph::Activation::kRelu) return;
  for (float& value : y) value = std::max(value, 0.0F);
}

void max_pool_backward(const ReferenceCall& call) {
  const auto dy = call.input<float>(0);
  const auto index = call.input<std::uint8_t>(1);
  const auto dx = call.output<float>(0);
  std::fill(dx.begin(), dx.end(), 0.0F);
  PoolingSpace{call.output_shape(0), call.input_shape(0), call.as<graph::PoolAttributes>().window}.for_each_tap(
      [&](std::size_t out, std::size_t in, std::int64_t position) {
        if (index[out] == position) dx[in] += dy[out];
      });
}

void average_pool(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto y = call.output<float>(0);
  const PoolingSpace space{call.input_shape(0), call.output_shape(0), call.as<graph::PoolAttributes>().window};
  const std::vector<double> counts = divisors(space, call.as<graph::PoolAttributes>());
  std::vector<double> sums(y.size(), 0.0);
  space.for_each_tap([&](std::size_t out, std::size_t in, std::int64_t) { sums[out] += x[in]; });
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(sums[i] / counts[i]);
}

void average_pool_backward(const ReferenceCall& call) {
  const auto dy = call.input<float>(0);
  const auto dx = call.output<float>(0);
  const PoolingSpace space{call.output_shape(0), call.input_shape(0), call.as<graph::PoolAttributes>().window};
  const std::vector<double> counts = divisors(space, call.as<graph::PoolAttributes>());
  std::vector<double> sums(dx.size(), 0.0);
  space.for_each_tap([&](std::size_t out, std::size_t in, std::int64_t) { sums[in] += dy[out] / counts[out]; });
  for (std::size_t i = 0; i < dx.size(); ++i) dx[i] = static_cast<float>(sums[i]);
}

}  // namespace

SLUICE_REFERENCE_KERNEL(kMaxPool, max_pool)
SLUICE_REFERENCE_KERNEL(kMaxPoolBackward, max_pool_backward)
SLUICE_REFERENCE_KERNEL(kAvgPool, average_pool)
SLUICE_REFERENCE_KERNEL(kAvgPoolBackward, average_pool_backward)

}  // namespace sluice::kernels
