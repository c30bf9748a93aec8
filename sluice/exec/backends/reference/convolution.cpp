#include "sluice/exec/backends/reference/reference_kernels.hpp"

namespace sluice {
namespace {

// The index space of a convolution: every (image, output channel, output pixel, input channel, filter tap) whose
// input pixel lies inside the image, with the flat offsets of the three elements that the tap connects.
struct ConvolutionSpace {
  const Shape& x;
  const Shape& w;
  const Shape& y;
  std::int64_t stride;
  std::int64_t padding;

  template <typename Visit>
  void for_each_tap(Visit visit) const {
    for (std::int64_t n = 0; n < y[0]; ++n)
      for (std::int64_t o = 0; o < y[1]; ++o)
        for (std::int64_t i = 0; i < x[1]; ++i) visit_plane(n, o, i, visit);
  }

  template <typename Visit>
  void visit_plane(std::int64_t n, std::int64_t o, std::int64_t i, Visit& visit) const {
    for (std::int64_t row = 0; row < y[2]; ++row)
      for (std::int64_t col = 0; col < y[3]; ++col)
        for (std::int64_t kh = 0; kh < w[2]; ++kh)
          for (std::int64_t kw = 0; kw < w[3]; ++kw) {
            const std::int64_t in_row = row * stride - padding + kh;
            const std::int64_t in_col = col * stride - padding + kw;
            if (in_row < 0 || in_row >= x[2] || in_col < 0 || in_col >= x[3]) continue;
            visit(static_cast<std::size_t>(((n * x[1] + i) * x[2] + in_row) * x[3] + in_col),
                  static_cast<std::size_t>(((o * w[1] + i) * w[2] + kh) * w[3] + kw),
                  static_cast<std::size_t>(((n * y[1] + o) * y[2] + row) * y[3] + col));
          }
  }
};

void store(std::span<const double> sums, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(sums[i]);
}

}  // namespace

void reference_convolution(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto w = call.input<float>(1);
  const auto y = call.output<float>(0);
  const Shape& shape = call.output_shape(0);
  const auto pixels = static_cast<std::size_t>(shape[2] * shape[3]);
  std::vector<double> sums(y.size(), 0.0);
  if (call.input_count() == 3) {
    const auto bias = call.input<float>(2);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = bias[i / pixels % bias.size()];
  }
  ConvolutionSpace{call.input_shape(0), call.input_shape(1), shape, call.attributes().stride, call.attributes().padding}
      .for_each_tap([&](std::size_t xi, std::size_t wi, std::size_t yi) { sums[yi] += double{x[xi]} * w[wi]; });
  store(sums, y);
}

void reference_convolution_backward_data(const ReferenceCall& call) {
  const auto dy = call.input<float>(0);
  const auto w = call.input<float>(1);
  const auto dx = call.output<float>(0);
  std::vector<double> sums(dx.size(), 0.0);
  ConvolutionSpace{call.output_shape(0), call.input_shape(1), call.input_shape(0), call.attributes().stride,
                   call.attributes().padding}
      .for_each_tap([&](std::size_t xi, std::size_t wi, std::size_t yi) { sums[xi] += double{dy[yi]} * w[wi]; });
  store(sums, dx);
}

void reference_convolution_backward_weights(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto dy = call.input<float>(1);
  const auto dw = call.output<float>(0);
  const Shape& dy_shape = call.input_shape(1);
  std::vector<double> sums(dw.size(), 0.0);
  ConvolutionSpace{call.input_shape(0), call.output_shape(0), dy_shape, call.attributes().stride,
                   call.attributes().padding}
      .for_each_tap([&](std::size_t xi, std::size_t wi, std::size_t yi) { sums[wi] += double{x[xi]} * dy[yi]; });
  store(sums, dw);
  if (call.output_count() < 2) return;

  const auto dbias = call.output<float>(1);
  const auto pixels = static_cast<std::size_t>(dy_shape[2] * dy_shape[3]);
  std::vector<double> bias_sums(dbias.size(), 0.0);
  for (std::size_t i = 0; i < dy.size(); ++i) bias_sums[i / pixels % dbias.size()] += dy[i];
  store(bias_sums, dbias);
}

}  // namespace sluice
