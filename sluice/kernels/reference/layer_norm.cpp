// Norms within a sample: layer norm along the last dimension, local response norm across neighbouring channels.
#include <algorithm>
#include <cmath>

#include "sluice/base/as_index.hpp"
#include "sluice/kernels/reference/reference_kernels.hpp"

namespace sluice::kernels {
namespace {

// How a local response norm divides: y = x / scale^beta, scale = bias + alpha / size * sum of squares of the channels
// from (size - 1) / 2 before to size / 2 behind.
struct ReferenceResponseNorm {
  std::span<const float> x;
  const graph::Shape& shape;
  const graph::ResponseNormAttributes& attributes;

  std::int64_t first(std::int64_t c) const { return std::max<std::int64_t>(0, c - (attributes.channels - 1) / 2); }
  std::int64_t last(std::int64_t c) const { return std::min(shape[1] - 1, c + attributes.channels / 2); }
  std::int64_t pixels() const { return graph::element_count(shape) / (shape[0] * shape[1]); }
  std::size_t offset(std::int64_t n, std::int64_t c, std::int64_t pixel) const {
    return as_index((n * shape[1] + c) * pixels() + pixel);
  }
  double factor() const { return double{attributes.alpha} / static_cast<double>(attributes.channels); }
  double scale(std::int64_t n, std::int64_t c, std::int64_t pixel) const {
    double squares = 0;
    for (std::int64_t k = first(c); k <= last(c); ++k) squares += std::pow(double{x[offset(n, k, pixel)]}, 2);
    return attributes.bias + factor() * squares;
  }

  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::int64_t n = 0; n < shape[0]; ++n)
      for (std::int64_t c = 0; c < shape[1]; ++c)
        for (std::int64_t pixel = 0; pixel < pixels(); ++pixel) visit(n, c, pixel);
  }
};

void layer_norm(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto scale_shift = call.input<float>(1);
  const auto y = call.output<float>(0);
  const auto stats = call.output<float>(1);
  const auto features = as_index(call.input_shape(0).back());
  const std::size_t rows = x.size() / features;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto values = x.subspan(row * features, features);
    double mean = 0;
    double variance = 0;
    for (const float value : values) mean += value / static_cast<double>(features);
    for (const float value : values) variance += (value - mean) * (value - mean) / static_cast<double>(features);
    const double inverse = 1.0 / std::sqrt(variance + call.as<graph::NormAttributes>().epsilon);
    for (std::size_t k = 0; k < features; ++k)
      y[row * features + k] =
          static_cast<float>((values[k] - mean) * inverse * scale_shift[k] + scale_shift[features + k]);
    stats[row] = static_cast<float>(mean);
    stats[rows + row] = static_cast<float>(inverse);
  }
}

void layer_norm_backward(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto dy = call.input<float>(1);
  const auto scale_shift = call.input<float>(2);
  const auto stats = call.input<float>(3);
  const auto dx = call.output<float>(0);
  const auto dscale_shift = call.output<float>(1);
  const auto features = as_index(call.input_shape(0).back());
  const std::size_t rows = x.size() / features;
  std::vector<double> sums(2 * features, 0.0);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto normalized = [&](std::size_t k) {
      return (double{x[row * features + k]} - stats[row]) * stats[rows + row];
    };
    const auto scaled = [&](std::size_t k) { return double{dy[row * features + k]} * scale_shift[k]; };
    double mean = 0;
    double mean_along_x = 0;
    for (std::size_t k = 0; k < features; ++k) {
      sums[k] += dy[row * features + k] * normalized(k);
      sums[features + k] += dy[row * features + k];
      mean += scaled(k) / static_cast<double>(features);
      mean_along_x += scaled(k) * normalized(k) / static_cast<double>(features);
    }
    for (std::size_t k = 0; k < features; ++k)
      dx[row * features + k] =
          static_cast<float>(stats[rows + row] * (scaled(k) - mean - normalized(k) * mean_along_x));
  }
  for (std::size_t i = 0; i < sums.size(); ++i) dscale_shift[i] = static_cast<float>(sums[i]);
}

void local_response_norm(const ReferenceCall& call) {
  const auto y = call.output<float>(0);
  const ReferenceResponseNorm norm{call.input<float>(0), call.input_shape(0), call.as<graph::ResponseNormAttributes>()};
  norm.for_each([&](std::int64_t n, std::int64_t c, std::int64_t pixel) {
    const std::size_t i = norm.offset(n, c, pixel);
    y[i] = static_cast<float>(norm.x[i] /
                              std::pow(norm.scale(n, c, pixel), call.as<graph::ResponseNormAttributes>().beta));
  });
}

// dy[c] reaches x[c] directly, and every x[k] of its channels through the scale.
void local_response_norm_backward(const ReferenceCall& call) {
  const auto dy = call.input<float>(1);
  const auto dx = call.output<float>(0);
  const ReferenceResponseNorm norm{call.input<float>(0), call.input_shape(0), call.as<graph::ResponseNormAttributes>()};
  const double beta = call.as<graph::ResponseNormAttributes>().beta;
  std::vector<double> sums(dx.size(), 0.0);
  norm.for_each([&](std::int64_t n, std::int64_t c, std::int64_t pixel) {
    const std::size_t i = norm.offset(n, c, pixel);
    const double scale = norm.scale(n, c, pixel);
    sums[i] += dy[i] / std::pow(scale, beta);
    const double dscale = -beta * dy[i] * norm.x[i] * std::pow(scale, -beta - 1);
    for (std::int64_t k = norm.first(c); k <= norm.last(c); ++k) {
      const std::size_t other = norm.offset(n, k, pixel);
      sums[other] += dscale * norm.factor() * 2 * norm.x[other];
    }
  });
  for (std::size_t i = 0; i < dx.size(); ++i) dx[i] = static_cast<float>(sums[i]);
}

}  // namespace

SLUICE_REFERENCE_KERNEL(kLayerNorm, layer_norm)
SLUICE_REFERENCE_KERNEL(kLayerNormBackward, layer_norm_backward)
SLUICE_REFERENCE_KERNEL(kLocalResponseNorm, local_response_norm)
SLUICE_REFERENCE_KERNEL(kLocalResponseNormBackward, local_response_norm_backward)

}  // namespace sluice::kernels
