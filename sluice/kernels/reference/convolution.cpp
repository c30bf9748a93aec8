#include "sluice/base/as_index.hpp"
#include "sluice/kernels/reference/reference_kernels.hpp"

namespace sluice::kernels {
namespace {

// What a convolution connects: every (sample, fine pixel, coarse pixel, filter tap) of channels in the same group, with
// the flat offsets of the three elements. A convolution reads the fine image and writes the coarse one; a transposed
// convolution goes the other way along the same connections, and so do the gradients. The weights' first dimension
// counts coarse channels, the second fine channels of a group.
struct ConvolutionSpace {
  const graph::Shape& fine;
  const graph::Shape& w;
  const graph::Shape& coarse;
  const graph::ConvolutionAttributes& attributes;

  // visit(fine offset, weight offset, coarse offset)
  template <typename Visit>
  void for_each_tap(Visit visit) const {
    const std::int64_t coarse_group = coarse[1] / attributes.groups;
    for (std::int64_t n = 0; n < coarse[0]; ++n)
      for (std::int64_t o = 0; o < coarse[1]; ++o)
        for (std::int64_t i = 0; i < w[1]; ++i)
          visit_plane(n * coarse[1] + o, n * fine[1] + o / coarse_group * w[1] + i, o * w[1] + i, visit);
  }

  template <typename Visit>
  void visit_plane(std::int64_t coarse_plane, std::int64_t fine_plane, std::int64_t filter, Visit& visit) const {
    const graph::Window& window = attributes.window;
    for (std::int64_t row = 0; row < coarse[2]; ++row)
      for (std::int64_t col = 0; col < coarse[3]; ++col)
        for (std::int64_t kh = 0; kh < w[2]; ++kh)
          for (std::int64_t kw = 0; kw < w[3]; ++kw) {
            const std::int64_t fine_row = row * window.stride_h - window.pad_top + kh * window.dilation_h;
            const std::int64_t fine_col = col * window.stride_w - window.pad_left + kw * window.dilation_w;
            if (fine_row < 0 || fine_row >= fine[2] || fine_col < 0 || fine_col >= fine[3]) continue;
            visit(as_index((fine_plane * fine[2] + fine_row) * fine[3] + fine_col),
                  as_index((filter * w[2] + kh) * w[3] + kw),
                  as_index((coarse_plane * coarse[2] + row) * coarse[3] + col));
          }
  }
};

void store(std::span<const double> sums, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(sums[i]);
}

std::size_t pixels_of(const graph::Shape& image) { return as_index(image[2] * image[3]); }

// Sums of y, started at the bias.
std::vector<double> bias_sums(const ReferenceCall& call) {
  std::vector<double> sums(call.output<float>(0).size(), 0.0);
  if (call.input_count() < 3) return sums;
  const auto bias = call.input<float>(2);
  const std::size_t pixels = pixels_of(call.output_shape(0));
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = bias[i / pixels % bias.size()];
  return sums;
}

void store_activated(const ReferenceCall& call, std::span<const double> sums) {
  const auto y = call.output<float>(0);
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = static_cast<float>(activate(call.as<graph::ConvolutionAttributes>().activation, sums[i]));
}

void store_bias_gradient(const ReferenceCall& call) {
  if (call.output_count() < 2) return;
  const auto dy = call.input<float>(1);
  const auto dbias = call.output<float>(1);
  const std::size_t pixels = pixels_of(call.input_shape(1));
  std::vector<double> sums(dbias.size(), 0.0);
  for (std::size_t i = 0; i < dy.size(); ++i) sums[i / pixels % dbias.size()] += dy[i];
  store(sums, dbias);
}

void convolution(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto w = call.input<float>(1);
  std::vector<double> sums = bias_sums(call);
  ConvolutionSpace{call.input_shape(0), call.input_shape(1), call.output_shape(0),
                   call.as<graph::ConvolutionAttributes>()}
      .for_each_tap([&](std::size_t xi, std::size_t wi, std::size_t yi) { sums[yi] += double{x[xi]} * w[wi]; });
  store_activated(call, sums);
}

void convolution_backward_data(const ReferenceCall& call) {
  const auto dy = call.input<float>(0);
  const auto w = call.input<float>(1);
  const auto dx = call.output<float>(0);
  std::vector<double> sums(dx.size(), 0.0);
  ConvolutionSpace{call.output_shape(0), call.input_shape(1), call.input_shape(0),
                   call.as<graph::ConvolutionAttributes>()}
      .for_each_tap([&](std::size_t xi, std::size_t wi, std::size_t yi) { sums[xi] += double{dy[yi]} * w[wi]; });
  store(sums, dx);
}

void convolution_backward_weights(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto dy = call.input<float>(1);
  const auto dw = call.output<float>(0);
  std::vector<double> sums(dw.size(), 0.0);
  ConvolutionSpace{call.input_shape(0), call.output_shape(0), call.input_shape(1),
                   call.as<graph::ConvolutionAttributes>()}
      .for_each_tap([&](std::size_t xi, std::size_t wi, std::size_t yi) { sums[wi] += double{x[xi]} * dy[yi]; });
  store(sums, dw);
  store_bias_gradient(call);
}

void convolution_transpose(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto w = call.input<float>(1);
  std::vector<double> sums = bias_sums(call);
  ConvolutionSpace{call.output_shape(0), call.input_shape(1), call.input_shape(0),
                   call.as<graph::ConvolutionAttributes>()}
      .for_each_tap([&](std::size_t yi, std::size_t wi, std::size_t xi) { sums[yi] += double{x[xi]} * w[wi]; });
  store_activated(call, sums);
}

void convolution_transpose_backward_data(const ReferenceCall& call) {
  const auto dy = call.input<float>(0);
  const auto w = call.input<float>(1);
  const auto dx = call.output<float>(0);
  std::vector<double> sums(dx.size(), 0.0);
  ConvolutionSpace{call.input_shape(0), call.input_shape(1), call.output_shape(0),
                   call.as<graph::ConvolutionAttributes>()}
      .for_each_tap([&](std::size_t yi, std::size_t wi, std::size_t xi) { sums[xi] += double{dy[yi]} * w[wi]; });
  store(sums, dx);
}

void convolution_transpose_backward_weights(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto dy = call.input<float>(1);
  const auto dw = call.output<float>(0);
  std::vector<double> sums(dw.size(), 0.0);
  ConvolutionSpace{call.input_shape(1), call.output_shape(0), call.input_shape(0),
                   call.as<graph::ConvolutionAttributes>()}
      .for_each_tap([&](std::size_t yi, std::size_t wi, std::size_t xi) { sums[wi] += double{x[xi]} * dy[yi]; });
  store(sums, dw);
  store_bias_gradient(call);
}

}  // namespace

SLUICE_REFERENCE_KERNEL(kConv2d, convolution)
SLUICE_REFERENCE_KERNEL(kConv2dBackwardData, convolution_backward_data)
SLUICE_REFERENCE_KERNEL(kConv2dBackwardWeights, convolution_backward_weights)
SLUICE_REFERENCE_KERNEL(kConvTranspose2d, convolution_transpose)
SLUICE_REFERENCE_KERNEL(kConvTranspose2dBackwardData, convolution_transpose_backward_data)
SLUICE_REFERENCE_KERNEL(kConvTranspose2dBackwardWeights, convolution_transpose_backward_weights)

}  // namespace sluice::kernels
