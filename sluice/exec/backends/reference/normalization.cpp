#include <cmath>

#include "sluice/exec/backends/reference/reference_kernels.hpp"

namespace sluice {
namespace {

// Visits the flat offsets of all elements of channel `c` of an [N, C, H, W] tensor.
template <typename Visit>
void for_each_in_channel(const Shape& shape, std::int64_t c, Visit visit) {
  const std::int64_t pixels = shape[2] * shape[3];
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t p = 0; p < pixels; ++p) visit(static_cast<std::size_t>((n * shape[1] + c) * pixels + p));
}

struct Moments {
  double mean = 0;
  double variance = 0;  // of the population (divided by the count)
};

Moments channel_moments(std::span<const float> x, const Shape& shape, std::int64_t c) {
  const double count = static_cast<double>(shape[0] * shape[2] * shape[3]);
  Moments moments;
  for_each_in_channel(shape, c, [&](std::size_t i) { moments.mean += x[i] / count; });
  for_each_in_channel(shape, c, [&](std::size_t i) {
    const double distance = x[i] - moments.mean;
    moments.variance += distance * distance / count;
  });
  return moments;
}

}  // namespace

void reference_batch_norm(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto scale_shift = call.input<float>(1);
  const auto old_running = call.input<float>(2);
  const auto y = call.output<float>(0);
  const auto stats = call.output<float>(1);
  const auto running = call.output<float>(2);
  const Shape& shape = call.input_shape(0);
  const Attributes& attributes = call.attributes();
  const double count = static_cast<double>(shape[0] * shape[2] * shape[3]);
  const double keep = 1.0 - attributes.momentum;
  for (std::int64_t channel = 0; channel < shape[1]; ++channel) {
    const auto c = static_cast<std::size_t>(channel);
    const auto v = static_cast<std::size_t>(shape[1] + channel);  // the second row: shift, variance
    const Moments moments = channel_moments(x, shape, channel);
    const double inverse = 1.0 / std::sqrt(moments.variance + attributes.epsilon);
    for_each_in_channel(shape, channel, [&](std::size_t i) {
      const double value = (x[i] - moments.mean) * inverse * scale_shift[c] + scale_shift[v];
      const bool passes = !attributes.relu || value > 0;
      if (attributes.relu) call.output<std::uint8_t>(3)[i] = passes ? 1 : 0;
      y[i] = passes ? static_cast<float>(value) : 0.0F;
    });
    const double unbiased = count > 1 ? moments.variance * count / (count - 1) : moments.variance;
    running[c] = static_cast<float>(keep * old_running[c] + attributes.momentum * moments.mean);
    running[v] = static_cast<float>(keep * old_running[v] + attributes.momentum * unbiased);
    stats[c] = static_cast<float>(moments.mean);
    stats[v] = static_cast<float>(moments.variance);
  }
}

void reference_batch_norm_backward(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto dy = call.input<float>(1);
  const auto scale_shift = call.input<float>(2);
  const auto stats = call.input<float>(3);
  const auto dx = call.output<float>(0);
  const auto dscale_shift = call.output<float>(1);
  const Shape& shape = call.input_shape(0);
  const bool relu = call.attributes().relu;
  const double count = static_cast<double>(shape[0] * shape[2] * shape[3]);
  const auto gradient = [&](std::size_t i) -> double {
    return relu && call.input<std::uint8_t>(4)[i] == 0 ? 0.0 : dy[i];
  };
  for (std::int64_t channel = 0; channel < shape[1]; ++channel) {
    const auto c = static_cast<std::size_t>(channel);
    const auto v = static_cast<std::size_t>(shape[1] + channel);
    const double inverse = 1.0 / std::sqrt(double{stats[v]} + call.attributes().epsilon);
    double dscale = 0;
    double dshift = 0;
    for_each_in_channel(shape, channel, [&](std::size_t i) {
      dscale += gradient(i) * (x[i] - stats[c]) * inverse;
      dshift += gradient(i);
    });
    for_each_in_channel(shape, channel, [&](std::size_t i) {
      const double normalized = (x[i] - stats[c]) * inverse;
      dx[i] =
          static_cast<float>(scale_shift[c] * inverse * (gradient(i) - dshift / count - normalized * dscale / count));
    });
    dscale_shift[c] = static_cast<float>(dscale);
    dscale_shift[v] = static_cast<float>(dshift);
  }
}

}  // namespace sluice
