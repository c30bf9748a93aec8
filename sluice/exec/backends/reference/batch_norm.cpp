#include <cmath>

#include "sluice/exec/backends/reference/reference_kernels.hpp"

namespace sluice {
namespace {

// Visits the flat offsets of all elements of channel `c` of an [N, C, ...] tensor.
template <typename Visit>
void for_each_in_channel(const Shape& shape, std::int64_t c, Visit visit) {
  const std::int64_t pixels = element_count(shape) / (shape[0] * shape[1]);
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t p = 0; p < pixels; ++p) visit(static_cast<std::size_t>((n * shape[1] + c) * pixels + p));
}

double count_in_channel(const Shape& shape) {
  return static_cast<double>(element_count(shape)) / static_cast<double>(shape[1]);
}

struct Moments {
  double mean = 0;
  double variance = 0;  // of the population (divided by the count)
};

Moments channel_moments(std::span<const float> x, const Shape& shape, std::int64_t c) {
  const double count = count_in_channel(shape);
  Moments moments;
  for_each_in_channel(shape, c, [&](std::size_t i) { moments.mean += x[i] / count; });
  for_each_in_channel(shape, c, [&](std::size_t i) {
    const double distance = x[i] - moments.mean;
    moments.variance += distance * distance / count;
  });
  return moments;
}

// The norm of one channel, from the statistics as they are stored: what is made again later is the same bits.
struct ChannelNorm {
  double mean, inverse, scale, shift;

  ChannelNorm(std::span<const float> stats, std::span<const float> scale_shift, std::size_t c, double epsilon)
      : mean(stats[c]),
        inverse(1.0 / std::sqrt(stats[stats.size() / 2 + c] + epsilon)),
        scale(scale_shift[c]),
        shift(scale_shift[stats.size() / 2 + c]) {}

  double normalized(double x) const { return (x - mean) * inverse; }
  double apply(double x) const { return normalized(x) * scale + shift; }
};

// y from x and the statistics; the residual, if any, is input `residual`.
void apply_norm(const ReferenceCall& call, std::span<const float> stats, std::size_t residual) {
  const auto x = call.input<float>(0);
  const auto y = call.output<float>(0);
  const Shape& shape = call.input_shape(0);
  const bool adds = call.input_count() > residual;
  for (std::int64_t c = 0; c < shape[1]; ++c) {
    const ChannelNorm norm(stats, call.input<float>(1), static_cast<std::size_t>(c), call.attributes().epsilon);
    for_each_in_channel(shape, c, [&](std::size_t i) {
      const double value = norm.apply(x[i]) + (adds ? call.input<float>(residual)[i] : 0.0F);
      y[i] = static_cast<float>(activate(call.attributes().activation, value));
    });
  }
}

}  // namespace

void reference_batch_norm(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto old_running = call.input<float>(2);
  const auto stats = call.output<float>(1);
  const auto running = call.output<float>(2);
  const Shape& shape = call.input_shape(0);
  const double count = count_in_channel(shape);
  const double momentum = call.attributes().momentum;
  for (std::int64_t channel = 0; channel < shape[1]; ++channel) {
    const auto c = static_cast<std::size_t>(channel);
    const auto v = static_cast<std::size_t>(shape[1] + channel);  // the second row: shift, variance
    const Moments moments = channel_moments(x, shape, channel);
    const double unbiased = count > 1 ? moments.variance * count / (count - 1) : moments.variance;
    running[c] = static_cast<float>((1 - momentum) * old_running[c] + momentum * moments.mean);
    running[v] = static_cast<float>((1 - momentum) * old_running[v] + momentum * unbiased);
    stats[c] = static_cast<float>(moments.mean);
    stats[v] = static_cast<float>(moments.variance);
  }
  apply_norm(call, stats, 3);
}

void reference_batch_norm_apply(const ReferenceCall& call) { apply_norm(call, call.input<float>(2), 3); }

void reference_batch_norm_backward(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto dy = call.input<float>(1);
  const auto dx = call.output<float>(0);
  const auto dscale_shift = call.output<float>(1);
  const Shape& shape = call.input_shape(0);
  const double count = count_in_channel(shape);
  for (std::int64_t channel = 0; channel < shape[1]; ++channel) {
    const auto c = static_cast<std::size_t>(channel);
    const ChannelNorm norm(call.input<float>(3), call.input<float>(2), c, call.attributes().epsilon);
    const auto gradient = [&](std::size_t i) {
      return passes(call.attributes().activation, norm.apply(x[i])) ? double{dy[i]} : 0.0;
    };
    double dscale = 0;
    double dshift = 0;
    for_each_in_channel(shape, channel, [&](std::size_t i) {
      dscale += gradient(i) * norm.normalized(x[i]);
      dshift += gradient(i);
    });
    for_each_in_channel(shape, channel, [&](std::size_t i) {
      const double centred = gradient(i) - dshift / count - norm.normalized(x[i]) * dscale / count;
      dx[i] = static_cast<float>(norm.scale * norm.inverse * centred);
    });
    dscale_shift[c] = static_cast<float>(dscale);
    dscale_shift[c + static_cast<std::size_t>(shape[1])] = static_cast<float>(dshift);
  }
}

}  // namespace sluice
