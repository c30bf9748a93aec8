// Batch normalization, a kernel of our own: a ReLU needs no stored mask (the backward pass makes the pre-activation
// again from x), a residual and the activation cost no pass of their own, and no bits depend on the number of threads.
//
// Memory sets its speed. Each thread takes blocks of channels and does both passes on one before the next, so that the
// second finds the block in cache; with too few blocks for the threads, all share the runs of all blocks, pass by pass.
// Sums are per run (channel_sweep.hpp), then over the samples in order, in fp64, around the first pixel's value: so the
// variance keeps its digits when the mean is far from zero.
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "sluice/exec/backends/onednn/channel_sweep.hpp"
#include "sluice/exec/backends/onednn/kernel.hpp"

namespace sluice {
namespace {

// What all three kernels share: how x is cut, who works on which part.
class ChannelKernel : public Kernel {
 protected:
  ChannelKernel(const KernelRequest& request, const Layout& data)
      : runs_(data, request.inputs[0].shape),
        activation_(request.attributes.activation),
        epsilon_(request.attributes.epsilon),
        by_block_(runs_.blocks % omp_get_max_threads() == 0 || runs_.blocks >= 4 * omp_get_max_threads()),
        stream_(runs_.blocked && static_cast<Bytes>(data.get_size()) >= kStreamedBytes) {
    implementation = "loop";
    inputs = plain_layouts(request.inputs);
    outputs = plain_layouts(request.outputs);
    inputs[0] = data;
  }

  // x's own layout where it is one that we read, else the blocked one.
  static Layout data_layout(const OperandRequest& x) {
    if (!x.layout) return preferred_image_layout(x.shape, x.dtype);
    return is_plain(*x.layout) || is_blocked_image(*x.layout) ? *x.layout : blocked_image_layout(x.shape, x.dtype);
  }

  void need_sums() {
    if (!by_block_) workspace_bytes = runs_.samples * runs_.blocks * static_cast<Bytes>(sizeof(LaneSums));
  }

  // For each block of channels: the sums of all samples by `summing(block)(sample, sums)`, then `finish(block,
  // totals)`, then `applying(block)(sample)` on all samples.
  template <typename Summing, typename Finish, typename Applying>
  void sweep(void* workspace, const Summing& summing, const Finish& finish, const Applying& applying) const {
    if (by_block_) {
#pragma omp parallel for schedule(static)
      for (std::int64_t block = 0; block < runs_.blocks; ++block) {
        LaneSums total{};
        LaneSums part;
        const auto sum = summing(block);
        for (std::int64_t sample = 0; sample < runs_.samples; ++sample) {
          sum(sample, part);
          add(part, total);
        }
        finish(block, total);
        const auto apply = applying(block);
        // Backwards: the last samples read are those still in the nearest cache.
        for (std::int64_t sample = runs_.samples; sample-- > 0;) apply(sample);
        if (stream_) finish_streaming();
      }
      return;
    }
    auto* parts = static_cast<LaneSums*>(workspace);
    const std::int64_t count = runs_.samples * runs_.blocks;
#pragma omp parallel
    {
#pragma omp for schedule(static)
      for (std::int64_t run = 0; run < count; ++run) summing(run % runs_.blocks)(run / runs_.blocks, parts[run]);
#pragma omp for schedule(static)
      for (std::int64_t block = 0; block < runs_.blocks; ++block) {
        LaneSums total{};
        for (std::int64_t sample = 0; sample < runs_.samples; ++sample)
          add(parts[sample * runs_.blocks + block], total);
        finish(block, total);
      }
#pragma omp for schedule(static)
      for (std::int64_t run = 0; run < count; ++run) applying(run % runs_.blocks)(run / runs_.blocks);
      if (stream_) finish_streaming();
    }
  }

  // Sums over the lanes too, where all belong to one channel.
  double total(const double* lanes, std::int64_t lane) const {
    if (runs_.blocked) return lanes[lane];
    double sum = 0;
    for (std::int64_t i = 0; i < kLanes; ++i) sum += lanes[i];
    return sum;
  }

  double count() const { return static_cast<double>(runs_.samples * runs_.pixels); }
  // Lanes of a block that stand for a channel each.
  std::int64_t lanes() const { return runs_.blocked ? kLanes : 1; }

  // From the statistics of a block's channels; zero in padding, so that padding stays zero.
  Normalization normalization(std::int64_t block, const float* scale_shift, const float* stats) const {
    Normalization result{};
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const std::int64_t channel = runs_.channel(block, lane);
      if (channel < 0) continue;
      result.mean.value[lane] = stats[channel];
      result.factor.value[lane] = scale_shift[channel] * inverse_deviation(stats[runs_.channels + channel]);
      result.shift.value[lane] = scale_shift[runs_.channels + channel];
    }
    return result;
  }

  float inverse_deviation(float variance) const {
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(variance) + static_cast<double>(epsilon_)));
  }

  ChannelRuns runs_;
  Activation activation_;
  float epsilon_;
  bool by_block_;
  bool stream_;

 private:
  static void add(const LaneSums& part, LaneSums& total) {
    for (std::int64_t i = 0; i < kLanes; ++i) total.first[i] += part.first[i];
    for (std::int64_t i = 0; i < kLanes; ++i) total.second[i] += part.second[i];
  }
};

template <typename T>
class BatchNorm : public ChannelKernel {
 public:
  explicit BatchNorm(const KernelRequest& request)
      : ChannelKernel(request, data_layout(request.inputs[0])),
        has_residual_(request.inputs.size() == 4),
        momentum_(request.attributes.momentum) {
    if (has_residual_) inputs[3] = inputs[0];
    outputs[0] = inputs[0];
    need_sums();
  }

  Status run(std::span<void* const> operands, const StepContext& /*context*/) override {
    const auto* x = static_cast<const T*>(operands[0]);
    const auto* scale_shift = static_cast<const float*>(operands[1]);
    const auto* old_running = static_cast<const float*>(operands[2]);
    const auto* residual = has_residual_ ? static_cast<const T*>(operands[3]) : nullptr;
    auto* y = static_cast<T*>(operands[inputs.size()]);
    auto* stats = static_cast<float*>(operands[inputs.size() + 1]);
    auto* running = static_cast<float*>(operands[inputs.size() + 2]);
    sweep(
        operands.back(),
        [&](std::int64_t block) {
          return [=, this, around = pivot(x, block)](std::int64_t sample, LaneSums& sums) {
            sum_moments(x + runs_.offset(sample, block), runs_.length, around, sums);
          };
        },
        [&](std::int64_t block, const LaneSums& sums) {
          finish_block(block, sums, pivot(x, block), stats);
          update_running(block, stats, old_running, running);
        },
        [&](std::int64_t block) {
          return [=, this, by = normalization(block, scale_shift, stats)](std::int64_t sample) {
            const std::int64_t offset = runs_.offset(sample, block);
            apply_normalization(x + offset, has_residual_ ? residual + offset : nullptr, y + offset, runs_.length, by,
                                activation_, stream_ && y != residual);
          };
        });
    return {};
  }

 private:
  Lanes pivot(const T* x, std::int64_t block) const {
    const T* first = x + runs_.offset(0, block);
    Lanes result;
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const T value = first[runs_.blocked ? lane : 0];
      if constexpr (std::is_same_v<T, float>) {
        result.value[lane] = value;
      } else {
        result.value[lane] = to_float(value);
      }
    }
    return result;
  }

  void finish_block(std::int64_t block, const LaneSums& sums, const Lanes& pivot, float* stats) const {
    for (std::int64_t lane = 0; lane < lanes(); ++lane) {
      const std::int64_t channel = runs_.channel(block, lane);
      if (channel < 0) continue;
      const double mean = total(sums.first, lane) / count();
      const double variance = total(sums.second, lane) / count() - mean * mean;
      stats[channel] = static_cast<float>(static_cast<double>(pivot.value[lane]) + mean);
      stats[runs_.channels + channel] = static_cast<float>(variance < 0 ? 0 : variance);
    }
  }

  // running = (1 - m) * running + m * batch, with the variance made unbiased, as PyTorch does.
  void update_running(std::int64_t block, const float* stats, const float* old_running, float* running) const {
    const auto unbias = static_cast<float>(count() > 1 ? count() / (count() - 1) : 1.0);
    for (std::int64_t lane = 0; lane < lanes(); ++lane) {
      const std::int64_t channel = runs_.channel(block, lane);
      if (channel < 0) continue;
      const std::int64_t second = runs_.channels + channel;
      running[channel] = (1 - momentum_) * old_running[channel] + momentum_ * stats[channel];
      running[second] = (1 - momentum_) * old_running[second] + momentum_ * (stats[second] * unbias);
    }
  }

  bool has_residual_;
  float momentum_;
};

template <typename T>
class BatchNormApply : public ChannelKernel {
 public:
  explicit BatchNormApply(const KernelRequest& request)
      : ChannelKernel(request, data_layout(request.inputs[0])), has_residual_(request.inputs.size() == 4) {
    if (has_residual_) inputs[3] = inputs[0];
    outputs[0] = inputs[0];
  }

  Status run(std::span<void* const> operands, const StepContext& /*context*/) override {
    const auto* x = static_cast<const T*>(operands[0]);
    const auto* scale_shift = static_cast<const float*>(operands[1]);
    const auto* stats = static_cast<const float*>(operands[2]);
    const auto* residual = has_residual_ ? static_cast<const T*>(operands[3]) : nullptr;
    auto* y = static_cast<T*>(operands[inputs.size()]);
#pragma omp parallel for schedule(static)
    for (std::int64_t run = 0; run < runs_.samples * runs_.blocks; ++run) {
      const std::int64_t block = run % runs_.blocks;
      const std::int64_t offset = runs_.offset(run / runs_.blocks, block);
      apply_normalization(x + offset, has_residual_ ? residual + offset : nullptr, y + offset, runs_.length,
                          normalization(block, scale_shift, stats), activation_, stream_ && y != residual && y != x);
      if (stream_) finish_streaming();
    }
    return {};
  }

 private:
  bool has_residual_;
};

template <typename T>
class BatchNormBackward : public ChannelKernel {
 public:
  explicit BatchNormBackward(const KernelRequest& request) : ChannelKernel(request, data_layout(request.inputs[0])) {
    inputs[1] = inputs[0];
    outputs[0] = inputs[0];
    need_sums();
  }

  Status run(std::span<void* const> operands, const StepContext& /*context*/) override {
    const auto* x = static_cast<const T*>(operands[0]);
    const auto* dy = static_cast<const T*>(operands[1]);
    const auto* scale_shift = static_cast<const float*>(operands[2]);
    const auto* stats = static_cast<const float*>(operands[3]);
    auto* dx = static_cast<T*>(operands[4]);
    auto* dscale_shift = static_cast<float*>(operands[5]);
    sweep(
        operands.back(),
        [&](std::int64_t block) {
          return [=, this, by = normalization(block, scale_shift, stats)](std::int64_t sample, LaneSums& sums) {
            const std::int64_t offset = runs_.offset(sample, block);
            sum_gradients(x + offset, dy + offset, runs_.length, by, activation_, sums);
          };
        },
        [&](std::int64_t block, const LaneSums& sums) { finish_block(block, sums, stats, dscale_shift); },
        [&](std::int64_t block) {
          const Normalization by = normalization(block, scale_shift, stats);
          return [=, this, lanes = corrections(block, by, stats, dscale_shift)](std::int64_t sample) {
            const std::int64_t offset = runs_.offset(sample, block);
            apply_gradient(x + offset, dy + offset, dx + offset, runs_.length, by, lanes.first, lanes.second,
                           activation_, stream_ && dx != dy);
          };
        });
    return {};
  }

 private:
  void finish_block(std::int64_t block, const LaneSums& sums, const float* stats, float* dscale_shift) const {
    for (std::int64_t lane = 0; lane < lanes(); ++lane) {
      const std::int64_t channel = runs_.channel(block, lane);
      if (channel < 0) continue;
      const double inverse = static_cast<double>(inverse_deviation(stats[runs_.channels + channel]));
      dscale_shift[channel] = static_cast<float>(total(sums.second, lane) * inverse);
      dscale_shift[runs_.channels + channel] = static_cast<float>(total(sums.first, lane));
    }
  }

  // What the batch's mean and variance take off the gradient: a constant, and a slope times x - mean.
  std::pair<Lanes, Lanes> corrections(std::int64_t block, const Normalization& by, const float* stats,
                                      const float* dscale_shift) const {
    Lanes constant{};
    Lanes slope{};
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const std::int64_t channel = runs_.channel(block, lane);
      if (channel < 0) continue;
      const double factor = static_cast<double>(by.factor.value[lane]) / count();
      const double inverse = static_cast<double>(inverse_deviation(stats[runs_.channels + channel]));
      constant.value[lane] = static_cast<float>(factor * static_cast<double>(dscale_shift[runs_.channels + channel]));
      slope.value[lane] = static_cast<float>(factor * inverse * static_cast<double>(dscale_shift[channel]));
    }
    return {constant, slope};
  }
};

template <template <typename> typename KernelOf>
KernelPtr make_for_dtype(const KernelRequest& request) {
  if (request.inputs[0].dtype == DType::kBF16) return std::make_unique<KernelOf<BFloat16>>(request);
  return std::make_unique<KernelOf<float>>(request);
}

}  // namespace

KernelPtr make_batch_norm(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return make_for_dtype<BatchNorm>(request);
}

KernelPtr make_batch_norm_apply(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return make_for_dtype<BatchNormApply>(request);
}

KernelPtr make_batch_norm_backward(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return make_for_dtype<BatchNormBackward>(request);
}

}  // namespace sluice
