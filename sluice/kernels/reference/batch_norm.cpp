#include <cmath>

#include "sluice/base/as_index.hpp"
#include "sluice/kernels/reference/reference_kernels.hpp"

namespace sluice::kernels {
namespace {

// Visits the flat offsets of all elements of channel `c` of an [N, C, ...] tensor.
template <typename Visit>
void for_each_in_channel(const graph::Shape& shape, std::int64_t c, Visit visit) {
  const std::int64_t pixels = graph::element_count(shape) / (shape[0] * shape[1]);
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t p = 0; p < pixels; ++p) visit(as_index((n * shape[1] + c) * pixels + p));
}

double count_in_channel(const graph::Shape& shape) {
  return static_cast<double>(graph::element_count(shape)) / static_cast<double>(shape[1]);
}

struct Moments {
  double mean = 0;
  double variance = 0;  // of the population (divided by the count)
};

Moments channel_moments(std::span<const float> x, const graph::Shape& shape, std::int64_t c) {
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
  const graph::Shape& shape = call.input_shape(0);
  const bool adds = call.input_count() > residual;
  for (std::int64_t c = 0; c < shape[1]; ++c) {
    const ChannelNorm norm(stats, call.input<float>(1), as_index(c), call.as<graph::NormAttributes>().epsilon);
    for_each_in_channel(shape, c, [&](std::size_t i) {
      const double value = norm.apply(x[i]) + (adds ? call.input<float>(residual)[i] : 0.0F);
      y[i] = static_cast<float>(activate(call.as<graph::NormAttributes>().activation, value));
    });
  }
}

// stats and running of channel `channel`, of whose elements there are `count`.
void store_moments(const ReferenceCall& call, const Moments& moments, std::size_t channel, double count,
                   std::size_t running_input, std::size_t first_output) {
  const auto old_running = call.input<float>(running_input);
  const auto stats = call.output<float>(first_output);
  const auto running = call.output<float>(first_output + 1);
  const double momentum = call.as<graph::NormAttributes>().momentum;
  const std::size_t second = stats.size() / 2 + channel;  // the second row: shift, variance
  const double unbiased = count > 1 ? moments.variance * count / (count - 1) : moments.variance;
  running[channel] = static_cast<float>((1 - momentum) * old_running[channel] + momentum * moments.mean);
  running[second] = static_cast<float>((1 - momentum) * old_running[second] + momentum * unbiased);
  stats[channel] = static_cast<float>(moments.mean);
  stats[second] = static_cast<float>(moments.variance);
}

// The backward pass of one channel.
struct ChannelGradient {
  std::span<const float> x, dy;
  ChannelNorm norm;
  graph::Activation activation;

  ChannelGradient(const ReferenceCall& call, std::size_t c)
      : x(call.input<float>(0)),
        dy(call.input<float>(1)),
        norm(call.input<float>(3), call.input<float>(2), c, call.as<graph::NormAttributes>().epsilon),
        activation(call.as<graph::NormAttributes>().activation) {}

  double gradient(std::size_t i) const { return passes(activation, norm.apply(x[i])) ? double{dy[i]} : 0.0; }
};

struct GradientSums {
  double dscale = 0;
  double dshift = 0;
};

// Of one channel; rounded to `dscale_shift`, exact to the caller.
GradientSums sum_gradients(const ReferenceCall& call, std::int64_t channel, std::span<float> dscale_shift) {
  const auto c = as_index(channel);
  const ChannelGradient of(call, c);
  GradientSums sums;
  for_each_in_channel(call.input_shape(0), channel, [&](std::size_t i) {
    sums.dscale += of.gradient(i) * of.norm.normalized(of.x[i]);
    sums.dshift += of.gradient(i);
  });
  dscale_shift[c] = static_cast<float>(sums.dscale);
  dscale_shift[c + dscale_shift.size() / 2] = static_cast<float>(sums.dshift);
  return sums;
}

// `count`: elements of the channel in the whole batch, which the sums are over.
void apply_gradient(const ReferenceCall& call, std::int64_t channel, const GradientSums& sums, double count) {
  const auto dx = call.output<float>(0);
  const ChannelGradient of(call, as_index(channel));
  for_each_in_channel(call.input_shape(0), channel, [&](std::size_t i) {
    const double centred = of.gradient(i) - sums.dshift / count - of.norm.normalized(of.x[i]) * sums.dscale / count;
    dx[i] = static_cast<float>(of.norm.scale * of.norm.inverse * centred);
  });
}

void batch_norm(const ReferenceCall& call) {
  const graph::Shape& shape = call.input_shape(0);
  for (std::int64_t c = 0; c < shape[1]; ++c) {
    const Moments moments = channel_moments(call.input<float>(0), shape, c);
    store_moments(call, moments, as_index(c), count_in_channel(shape), 2, 1);
  }
  apply_norm(call, call.output<float>(1), 3);
}

void batch_norm_apply(const ReferenceCall& call) { apply_norm(call, call.input<float>(2), 3); }

void batch_norm_statistics(const ReferenceCall& call) {
  const auto stats = call.output<float>(0);
  const graph::Shape& shape = call.input_shape(0);
  for (std::int64_t c = 0; c < shape[1]; ++c) {
    const Moments moments = channel_moments(call.input<float>(0), shape, c);
    stats[as_index(c)] = static_cast<float>(moments.mean);
    stats[as_index(shape[1] + c)] = static_cast<float>(moments.variance);
  }
}

// The variance of all is the mean of the parts' variances and the variance of their means.
void batch_norm_merge(const ReferenceCall& call) {
  const std::size_t parts = call.input_count() - 1;
  const std::size_t channels = call.input<float>(0).size() / 2;
  const auto share = static_cast<double>(parts);
  for (std::size_t c = 0; c < channels; ++c) {
    Moments moments;
    for (std::size_t i = 0; i < parts; ++i) moments.mean += call.input<float>(i)[c] / share;
    for (std::size_t i = 0; i < parts; ++i) {
      const double distance = call.input<float>(i)[c] - moments.mean;
      moments.variance += (call.input<float>(i)[channels + c] + distance * distance) / share;
    }
    store_moments(call, moments, c, static_cast<double>(call.as<graph::NormAttributes>().channel_elements), parts, 0);
  }
}

void batch_norm_backward(const ReferenceCall& call) {
  const graph::Shape& shape = call.input_shape(0);
  for (std::int64_t c = 0; c < shape[1]; ++c) {
    apply_gradient(call, c, sum_gradients(call, c, call.output<float>(1)), count_in_channel(shape));
  }
}

void batch_norm_backward_sums(const ReferenceCall& call) {
  for (std::int64_t c = 0; c < call.input_shape(0)[1]; ++c) sum_gradients(call, c, call.output<float>(0));
}

void batch_norm_backward_apply(const ReferenceCall& call) {
  const auto dscale_shift = call.input<float>(4);
  const std::int64_t channels = call.input_shape(0)[1];
  for (std::int64_t c = 0; c < channels; ++c) {
    const GradientSums sums{dscale_shift[as_index(c)], dscale_shift[as_index(channels + c)]};
    apply_gradient(call, c, sums, static_cast<double>(call.as<graph::NormAttributes>().channel_elements));
  }
}

}  // namespace

SLUICE_REFERENCE_KERNEL(kBatchNorm, batch_norm)
SLUICE_REFERENCE_KERNEL(kBatchNormApply, batch_norm_apply)
SLUICE_REFERENCE_KERNEL(kBatchNormStatistics, batch_norm_statistics)
SLUICE_REFERENCE_KERNEL(kBatchNormMerge, batch_norm_merge)
SLUICE_REFERENCE_KERNEL(kBatchNormBackward, batch_norm_backward)
SLUICE_REFERENCE_KERNEL(kBatchNormBackwardSums, batch_norm_backward_sums)
SLUICE_REFERENCE_KERNEL(kBatchNormBackwardApply, batch_norm_backward_apply)

}  // namespace sluice::kernels
