// Batch normalization, kernels of our own: a ReLU needs no stored mask (the backward pass makes the pre-activation
// again from x), a residual and the activation cost no pass of their own, and no bits depend on the number of threads.
//
// Sums are made around the first pixel's value: so the variance keeps its digits when the mean is far from zero. The
// parts of a batch norm (split_batch_norm.hpp) are the same sweeps, each alone.
#include "sluice/kernels/onednn/loops/channel_kernel.hpp"

namespace sluice::kernels {
namespace {

// Running statistics of `channels` channels with `elements` each: running = (1 - m) * running + m * batch, with the
// variance made unbiased, as PyTorch does.
class RunningStatistics {
 public:
  RunningStatistics(std::int64_t channels, double elements, float momentum)
      : channels_(channels),
        momentum_(momentum),
        unbias_(static_cast<float>(elements > 1 ? elements / (elements - 1) : 1.0)) {}

  void update(std::int64_t channel, const float* stats, const float* old_running, float* running) const {
    const std::int64_t second = channels_ + channel;
    running[channel] = (1 - momentum_) * old_running[channel] + momentum_ * stats[channel];
    running[second] = (1 - momentum_) * old_running[second] + momentum_ * (stats[second] * unbias_);
  }

 private:
  std::int64_t channels_;
  float momentum_;
  float unbias_;
};

// What y is made of; `residual` may be null.
template <typename T>
struct ApplyOperands {
  const T* x;
  const T* residual;
  const float* scale_shift;
  const float* stats;
  T* y;
};

// The sweeps of the forward pass.
class ForwardKernel : public ChannelKernel {
 protected:
  explicit ForwardKernel(const KernelRequest& request) : ChannelKernel(request, data_layout(request.inputs[0])) {}

  // Of ops with y, and perhaps a residual as the last input.
  void use_layout_of_x(bool has_residual) {
    if (has_residual) inputs[3] = inputs[0];
    outputs[0] = inputs[0];
  }

  template <typename T>
  auto summing(const T* x) const {
    return [=, this](std::int64_t block) {
      return [=, this, around = pivot(x, block)](std::int64_t sample, LaneSums& sums) {
        sum_moments(x + runs_.offset(sample, block), runs_.length, around, sums);
      };
    };
  }

  template <typename T>
  void store_moments(const T* x, std::int64_t block, const LaneSums& sums, float* stats) const {
    const Lanes around = pivot(x, block);
    for (std::int64_t lane = 0; lane < lanes(); ++lane) {
      const std::int64_t channel = runs_.channel(block, lane);
      if (channel < 0) continue;
      const double mean = total(sums.first, lane) / count();
      const double variance = total(sums.second, lane) / count() - mean * mean;
      stats[channel] = static_cast<float>(static_cast<double>(around.value[lane]) + mean);
      stats[runs_.channels + channel] = static_cast<float>(variance < 0 ? 0 : variance);
    }
  }

  template <typename T>
  auto applying(const ApplyOperands<T>& on, bool stream) const {
    return [=, this](std::int64_t block) {
      return [=, this, by = normalization(block, on.scale_shift, on.stats)](std::int64_t sample) {
        const std::int64_t offset = runs_.offset(sample, block);
        apply_normalization(on.x + offset, on.residual == nullptr ? nullptr : on.residual + offset, on.y + offset,
                            runs_.length, by, activation_, stream);
      };
    };
  }

 private:
  template <typename T>
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
};

template <typename T>
class BatchNorm : public ForwardKernel {
 public:
  explicit BatchNorm(const KernelRequest& request)
      : ForwardKernel(request),
        has_residual_(request.inputs.size() == 4),
        running_statistics_(runs_.channels, count(), request.as<graph::NormAttributes>().momentum) {
    use_layout_of_x(has_residual_);
    need_sums();
  }

  Status run(std::span<void* const> operands, const StepContext& /*context*/) override {
    const auto* x = static_cast<const T*>(operands[0]);
    const auto* old_running = static_cast<const float*>(operands[2]);
    auto* stats = static_cast<float*>(operands[inputs.size() + 1]);
    auto* running = static_cast<float*>(operands[inputs.size() + 2]);
    const ApplyOperands<T> applied{x, has_residual_ ? static_cast<const T*>(operands[3]) : nullptr,
                                   static_cast<const float*>(operands[1]), stats,
                                   static_cast<T*>(operands[inputs.size()])};
    const auto finish = [&](std::int64_t block, const LaneSums& sums) {
      store_moments(x, block, sums, stats);
      for (std::int64_t lane = 0; lane < lanes(); ++lane) {
        const std::int64_t channel = runs_.channel(block, lane);
        if (channel >= 0) running_statistics_.update(channel, stats, old_running, running);
      }
    };
    sweep(operands.back(), summing(x), finish, applying(applied, stream_ && applied.y != applied.residual));
    return {};
  }

 private:
  bool has_residual_;
  RunningStatistics running_statistics_;
};

template <typename T>
class BatchNormApply : public ForwardKernel {
 public:
  explicit BatchNormApply(const KernelRequest& request)
      : ForwardKernel(request), has_residual_(request.inputs.size() == 4) {
    use_layout_of_x(has_residual_);
  }

  Status run(std::span<void* const> operands, const StepContext& /*context*/) override {
    const ApplyOperands<T> applied{static_cast<const T*>(operands[0]),
                                   has_residual_ ? static_cast<const T*>(operands[3]) : nullptr,
                                   static_cast<const float*>(operands[1]), static_cast<const float*>(operands[2]),
                                   static_cast<T*>(operands[inputs.size()])};
    sweep_runs(applying(applied, stream_ && applied.y != applied.residual && applied.y != applied.x));
    return {};
  }

 private:
  bool has_residual_;
};

template <typename T>
class BatchNormStatistics : public ForwardKernel {
 public:
  explicit BatchNormStatistics(const KernelRequest& request) : ForwardKernel(request) { need_sums(); }

  Status run(std::span<void* const> operands, const StepContext& /*context*/) override {
    const auto* x = static_cast<const T*>(operands[0]);
    auto* stats = static_cast<float*>(operands[1]);
    sweep_sums(operands.back(), summing(x),
               [&](std::int64_t block, const LaneSums& sums) { store_moments(x, block, sums, stats); });
    return {};
  }
};

double elements_of(const KernelRequest& request) {
  return static_cast<double>(request.as<graph::NormAttributes>().channel_elements);
}

// A few numbers a channel: one thread.
class BatchNormMerge : public Kernel {
 public:
  explicit BatchNormMerge(const KernelRequest& request)
      : parts_(request.inputs.size() - 1),
        channels_(request.inputs[0].shape[1]),
        running_statistics_(channels_, elements_of(request), request.as<graph::NormAttributes>().momentum) {
    implementation = "loop";
    inputs = plain_layouts(request.inputs);
    outputs = plain_layouts(request.outputs);
  }

  Status run(std::span<void* const> operands, const StepContext& /*context*/) override {
    const auto part = [&](std::size_t i) { return static_cast<const float*>(operands[i]); };
    const auto parts = static_cast<double>(parts_);
    auto* stats = static_cast<float*>(operands[parts_ + 1]);
    for (std::int64_t channel = 0; channel < channels_; ++channel) {
      double mean = 0;
      for (std::size_t i = 0; i < parts_; ++i) mean += static_cast<double>(part(i)[channel]);
      mean /= parts;
      double variance = 0;
      for (std::size_t i = 0; i < parts_; ++i) {
        const double distance = static_cast<double>(part(i)[channel]) - mean;
        variance += static_cast<double>(part(i)[channels_ + channel]) + distance * distance;
      }
      stats[channel] = static_cast<float>(mean);
      stats[channels_ + channel] = static_cast<float>(variance / parts);
      running_statistics_.update(channel, stats, part(parts_), static_cast<float*>(operands[parts_ + 2]));
    }
    return {};
  }

 private:
  std::size_t parts_;
  std::int64_t channels_;
  RunningStatistics running_statistics_;
};

KernelPtr make_batch_norm(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return make_for_dtype<BatchNorm>(request);
}

KernelPtr make_batch_norm_apply(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return make_for_dtype<BatchNormApply>(request);
}

KernelPtr make_batch_norm_statistics(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return make_for_dtype<BatchNormStatistics>(request);
}

KernelPtr make_batch_norm_merge(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return std::make_unique<BatchNormMerge>(request);
}

}  // namespace

KernelMakers batch_norm_kernels() {
  return {
      {graph::OpKind::kBatchNorm, make_batch_norm},
      {graph::OpKind::kBatchNormApply, make_batch_norm_apply},
      {graph::OpKind::kBatchNormStatistics, make_batch_norm_statistics},
      {graph::OpKind::kBatchNormMerge, make_batch_norm_merge},
  };
}

}  // namespace sluice::kernels
