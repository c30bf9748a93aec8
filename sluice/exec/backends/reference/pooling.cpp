#include <algorithm>

#include "sluice/exec/backends/reference/reference_kernels.hpp"

namespace sluice {
namespace {

// Visits every output pixel, and for each the taps of its window that lie inside the image.
struct PoolingSpace {
  const Shape& x;
  const Shape& y;
  const Attributes& attributes;

  // begin(output offset), then tap(output offset, input offset, position in the window), for each output element.
  template <typename Begin, typename Tap>
  void for_each_window(Begin begin, Tap tap) const {
    for (std::int64_t plane = 0; plane < y[0] * y[1]; ++plane)
      for (std::int64_t row = 0; row < y[2]; ++row)
        for (std::int64_t col = 0; col < y[3]; ++col) {
          const auto out = static_cast<std::size_t>((plane * y[2] + row) * y[3] + col);
          begin(out);
          for_each_tap(plane, row, col, [&](std::size_t in, std::int64_t position) { tap(out, in, position); });
        }
  }

  template <typename Tap>
  void for_each_tap(std::int64_t plane, std::int64_t row, std::int64_t col, Tap tap) const {
    for (std::int64_t kh = 0; kh < attributes.kernel_h; ++kh)
      for (std::int64_t kw = 0; kw < attributes.kernel_w; ++kw) {
        const std::int64_t in_row = row * attributes.stride - attributes.padding + kh;
        const std::int64_t in_col = col * attributes.stride - attributes.padding + kw;
        if (in_row < 0 || in_row >= x[2] || in_col < 0 || in_col >= x[3]) continue;
        tap(static_cast<std::size_t>((plane * x[2] + in_row) * x[3] + in_col), kh * attributes.kernel_w + kw);
      }
  }
};

}  // namespace

void reference_max_pool(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto y = call.output<float>(0);
  const auto index = call.output<std::uint8_t>(1);
  bool first = true;
  PoolingSpace{call.input_shape(0), call.output_shape(0), call.attributes()}.for_each_window(
      [&](std::size_t) { first = true; },
      [&](std::size_t out, std::size_t in, std::int64_t position) {
        if (!first && x[in] <= y[out]) return;
        y[out] = x[in];
        index[out] = static_cast<std::uint8_t>(position);
        first = false;
      });
}

void reference_max_pool_backward(const ReferenceCall& call) {
  const auto dy = call.input<float>(0);
  const auto index = call.input<std::uint8_t>(1);
  const auto dx = call.output<float>(0);
  std::fill(dx.begin(), dx.end(), 0.0F);
  PoolingSpace{call.output_shape(0), call.input_shape(0), call.attributes()}.for_each_window(
      [](std::size_t) {},
      [&](std::size_t out, std::size_t in, std::int64_t position) {
        if (index[out] == position) dx[in] += dy[out];
      });
}

void reference_average_pool(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto y = call.output<float>(0);
  const double window = static_cast<double>(call.attributes().kernel_h * call.attributes().kernel_w);
  std::vector<double> sums(y.size(), 0.0);
  PoolingSpace{call.input_shape(0), call.output_shape(0), call.attributes()}.for_each_window(
      [](std::size_t) {}, [&](std::size_t out, std::size_t in, std::int64_t) { sums[out] += x[in] / window; });
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(sums[i]);
}

void reference_average_pool_backward(const ReferenceCall& call) {
  const auto dy = call.input<float>(0);
  const auto dx = call.output<float>(0);
  const double window = static_cast<double>(call.attributes().kernel_h * call.attributes().kernel_w);
  std::vector<double> sums(dx.size(), 0.0);
  PoolingSpace{call.output_shape(0), call.input_shape(0), call.attributes()}.for_each_window(
      [](std::size_t) {}, [&](std::size_t out, std::size_t in, std::int64_t) { sums[in] += dy[out] / window; });
  for (std::size_t i = 0; i < dx.size(); ++i) dx[i] = static_cast<float>(sums[i]);
}

}  // namespace sluice
