// Batch norms: sums along channels, then a pass over the elements.
//
// Statistics, scales and gradients of scales are fp32 whatever the elements are.
#include "sluice/kernels/cuda/channel_norm.cuh"
#include "sluice/kernels/cuda/channels.cuh"
#include "sluice/kernels/cuda/launch.cuh"
#include "sluice/kernels/cuda/operands.cuh"

namespace sluice::kernels::cuda {
namespace {

constexpr std::int64_t kPartsAtOnce = 32;  // statistics that one launch merges
constexpr std::int64_t kMergeSums = 2;     // of every channel

template <typename Packs, bool kAdds>
void apply_norm_to(const CudaCall& call, const Norms& norms) {
  const Packs x(call.input(0)), residual(call.input(kAdds ? 3 : 0)), y(call.output(0));
  const Bounds bounds(call.as<graph::NormAttributes>().activation);
  for_each_in_channels(call.stream, Images(*call.input(0).shape), [=] __device__(std::int64_t c) {
    return ApplyChannel<Packs, kAdds>{norms.of(c), x, residual, y, bounds};
  });
}

void apply_norm(const CudaCall& call, const Operand& stats) {
  const Images images(*call.input(0).shape);
  const Norms norms{floats(stats), floats(call.input(1)), images.channels, call.as<graph::NormAttributes>().epsilon};
  const bool adds = call.inputs.size() > 3;
  with_packs(images.pixels, {call.input(0), call.input(adds ? 3 : 0), call.output(0)}, [&](auto packs) {
    using Packs = typename decltype(packs)::type;
    adds ? apply_norm_to<Packs, true>(call, norms) : apply_norm_to<Packs, false>(call, norms);
  });
}

struct Moments {
  double mean, variance;  // the variance of the population (divided by the count)
};

// The moments of `count` numbers from the sums of their distances from `origin` and of the squares.
__device__ Moments moments_of(float origin, double distances, double squares, double count) {
  const double mean = distances / count;
  return {origin + mean, fmax(squares / count - mean * mean, 0.0)};
}

template <typename Packs, typename Store>
void channel_moments_of(const CudaCall& call, const Store& store) {
  const Images images(*call.input(0).shape);
  const Packs x(call.input(0));
  const Cells elements = cells(call.input(0));
  const std::int64_t pixels = images.pixels;
  const auto count = static_cast<double>(images.in_channel());
  sum_channels<2>(
      call.stream, images, call.workspace,
      [=] __device__(std::int64_t c) {
        return MomentsChannel<Packs>{x, elements[c * pixels]};
      },
      [=] __device__(std::int64_t c, const Sums<2>& sums) {
        store(c, moments_of(elements[c * pixels], sums.of[0], sums.of[1], count));
      });
}

// store(c, moments), for every channel of x. One pass: distances are from the channel's first element, which is as
// near to the others as they are to each other, so that nothing cancels.
template <typename Store>
void channel_moments(const CudaCall& call, const Store& store) {
  with_packs(Images(*call.input(0).shape).pixels, {call.input(0)},
             [&](auto packs) { channel_moments_of<typename decltype(packs)::type>(call, store); });
}

struct Statistics {
  float* stats;
  std::int64_t channels;

  __device__ void store(std::int64_t c, const Moments& moments) const {
    stats[c] = static_cast<float>(moments.mean);
    stats[channels + c] = static_cast<float>(moments.variance);
  }
};

// Statistics that also move on the running ones, which may be the same tensor before and after.
struct RunningStatistics {
  Statistics statistics;
  const float* before;
  float* after;
  double count, momentum;

  __device__ void store(std::int64_t c, const Moments& moments) const {
    const std::int64_t second = statistics.channels + c;
    const double unbiased = count > 1 ? moments.variance * count / (count - 1) : moments.variance;
    after[c] = static_cast<float>((1 - momentum) * before[c] + momentum * moments.mean);
    after[second] = static_cast<float>((1 - momentum) * before[second] + momentum * unbiased);
    statistics.store(c, moments);
  }
};

void batch_norm(const CudaCall& call) {
  const Images images(*call.input(0).shape);
  const RunningStatistics running{{floats(call.output(1)), images.channels},
                                  floats(call.input(2)),
                                  floats(call.output(2)),
                                  static_cast<double>(images.in_channel()),
                                  call.as<graph::NormAttributes>().momentum};
  channel_moments(call, [=] __device__(std::int64_t c, const Moments& moments) { running.store(c, moments); });
  apply_norm(call, call.output(1));
}

void batch_norm_apply(const CudaCall& call) { apply_norm(call, call.input(2)); }

void batch_norm_statistics(const CudaCall& call) {
  const Statistics statistics{floats(call.output(0)), (*call.input(0).shape)[1]};
  channel_moments(call, [=] __device__(std::int64_t c, const Moments& moments) { statistics.store(c, moments); });
}

struct PartsToMerge {
  const float* of[kPartsAtOnce] = {};
  std::int64_t count = 0;
};

// Adds some parts to the sums of all: distances of means from the first part's, and what the squares of distances
// would be.
void add_parts(const CudaCall& call, const PartsToMerge& parts, bool first) {
  const std::int64_t channels = (*call.input(0).shape)[1];
  const float* const origin = floats(call.input(0));
  auto* const sums = static_cast<double*>(call.workspace);
  for_each_element(call.stream, channels, [=] __device__(std::int64_t c) {
    double distances = first ? 0.0 : sums[c];
    double squares = first ? 0.0 : sums[channels + c];
    for (std::int64_t i = 0; i < parts.count; ++i) {
      const double distance = static_cast<double>(parts.of[i][c]) - origin[c];
      distances += distance;
      squares += parts.of[i][channels + c] + distance * distance;
    }
    sums[c] = distances;
    sums[channels + c] = squares;
  });
}

// The parts are of equally many samples. Each part's squares are its variance and its mean's distance squared.
void batch_norm_merge(const CudaCall& call) {
  const auto count = static_cast<std::int64_t>(call.inputs.size()) - 1;
  for (std::int64_t begin = 0; begin < count; begin += kPartsAtOnce) {
    PartsToMerge parts;
    for (std::int64_t i = begin; i < std::min(begin + kPartsAtOnce, count); ++i)
      parts.of[parts.count++] = floats(call.input(static_cast<std::size_t>(i)));
    add_parts(call, parts, begin == 0);
  }
  const std::int64_t channels = (*call.input(0).shape)[1];
  const RunningStatistics running{{floats(call.output(0)), channels},
                                  floats(call.input(static_cast<std::size_t>(count))),
                                  floats(call.output(1)),
                                  static_cast<double>(call.as<graph::NormAttributes>().channel_elements),
                                  call.as<graph::NormAttributes>().momentum};
  const float* const origin = floats(call.input(0));
  const auto* const sums = static_cast<const double*>(call.workspace);
  for_each_element(call.stream, channels, [=] __device__(std::int64_t c) {
    running.store(c, moments_of(origin[c], sums[c], sums[channels + c], static_cast<double>(count)));
  });
}

template <typename Packs>
struct GradientOperands {
  Packs x, dy;
  Norms norms;
  graph::Activation activation;

  explicit GradientOperands(const CudaCall& call)
      : x(call.input(0)),
        dy(call.input(1)),
        norms{floats(call.input(3)), floats(call.input(2)), (*call.input(0).shape)[1],
              call.as<graph::NormAttributes>().epsilon},
        activation(call.as<graph::NormAttributes>().activation) {}

  __device__ GradientChannel<Packs> of(std::int64_t c) const { return {norms.of(c), x, dy, activation}; }
};

template <typename Packs>
void sum_gradients_of(const CudaCall& call, float* dscale_shift) {
  const Images images(*call.input(0).shape);
  const GradientOperands<Packs> operands(call);
  const std::int64_t channels = images.channels;
  sum_channels<2>(
      call.stream, images, call.workspace, [=] __device__(std::int64_t c) { return operands.of(c); },
      [=] __device__(std::int64_t c, const Sums<2>& sums) {
        dscale_shift[c] = sums.of[0];
        dscale_shift[channels + c] = sums.of[1];
      });
}

void sum_gradients(const CudaCall& call, float* dscale_shift) {
  with_packs(Images(*call.input(0).shape).pixels, {call.input(0), call.input(1)},
             [&](auto packs) { sum_gradients_of<typename decltype(packs)::type>(call, dscale_shift); });
}

template <typename Packs>
void apply_gradient_to(const CudaCall& call, const float* dscale_shift, float share) {
  const Images images(*call.input(0).shape);
  const GradientOperands<Packs> operands(call);
  const Packs dx(call.output(0));
  const std::int64_t channels = images.channels;
  for_each_in_channels(call.stream, images, [=] __device__(std::int64_t c) {
    return ApplyGradientChannel<Packs>{operands.of(c), dx, dscale_shift[channels + c] * share, dscale_shift[c] * share};
  });
}

// `count`: elements of a channel in the whole batch, which the sums are over.
void apply_gradient(const CudaCall& call, const float* dscale_shift, std::int64_t count) {
  const float share = 1.0F / static_cast<float>(count);
  with_packs(Images(*call.input(0).shape).pixels, {call.input(0), call.input(1), call.output(0)},
             [&](auto packs) { apply_gradient_to<typename decltype(packs)::type>(call, dscale_shift, share); });
}

void batch_norm_backward(const CudaCall& call) {
  sum_gradients(call, floats(call.output(1)));
  apply_gradient(call, floats(call.output(1)), Images(*call.input(0).shape).in_channel());
}

void batch_norm_backward_sums(const CudaCall& call) { sum_gradients(call, floats(call.output(0))); }

void batch_norm_backward_apply(const CudaCall& call) {
  apply_gradient(call, floats(call.input(4)), call.as<graph::NormAttributes>().channel_elements);
}

Bytes sums_workspace(const graph::Op&, const std::vector<graph::Shape>& inputs, const std::vector<graph::Shape>&) {
  return sum_channels_workspace<2>(Images(inputs.at(0)));
}

Bytes merge_workspace(const graph::Op&, const std::vector<graph::Shape>& inputs, const std::vector<graph::Shape>&) {
  return kMergeSums * inputs.at(0)[1] * static_cast<Bytes>(sizeof(double));
}

}  // namespace

KernelEntries batch_norm_kernels() {
  return {
      {graph::OpKind::kBatchNorm, batch_norm, sums_workspace},
      {graph::OpKind::kBatchNormApply, batch_norm_apply},
      {graph::OpKind::kBatchNormStatistics, batch_norm_statistics, sums_workspace},
      {graph::OpKind::kBatchNormMerge, batch_norm_merge, merge_workspace},
      {graph::OpKind::kBatchNormBackward, batch_norm_backward, sums_workspace},
      {graph::OpKind::kBatchNormBackwardSums, batch_norm_backward_sums, sums_workspace},
      {graph::OpKind::kBatchNormBackwardApply, batch_norm_backward_apply},
  };
}

}  // namespace sluice::kernels::cuda
