// The gradient of batch normalization, whole and in its two parts (split_batch_norm.hpp), by the same sweeps. A fused
// ReLU's mask is made again from x, as the forward kernels do (batch_norm.cpp).
#include "sluice/kernels/onednn/loops/channel_kernel.hpp"

namespace sluice::kernels {
namespace {

// What both passes read.
template <typename T>
struct BackwardOperands {
  explicit BackwardOperands(std::span<void* const> operands)
      : x(static_cast<const T*>(operands[0])),
        dy(static_cast<const T*>(operands[1])),
        scale_shift(static_cast<const float*>(operands[2])),
        stats(static_cast<const float*>(operands[3])) {}

  const T* x;
  const T* dy;
  const float* scale_shift;
  const float* stats;
};

// The sweeps of the backward pass.
class BackwardKernel : public ChannelKernel {
 protected:
  explicit BackwardKernel(const KernelRequest& request) : ChannelKernel(request, data_layout(request.inputs[0])) {
    inputs[1] = inputs[0];
  }

  template <typename T>
  auto summing(const BackwardOperands<T>& on) const {
    return [=, this](std::int64_t block) {
      return [=, this, by = normalization(block, on.scale_shift, on.stats)](std::int64_t sample, LaneSums& sums) {
        const std::int64_t offset = runs_.offset(sample, block);
        sum_gradients(on.x + offset, on.dy + offset, runs_.length, by, activation_, sums);
      };
    };
  }

  auto storing(const float* stats, float* dscale_shift) const {
    return [=, this](std::int64_t block, const LaneSums& sums) {
      for (std::int64_t lane = 0; lane < lanes(); ++lane) {
        const std::int64_t channel = runs_.channel(block, lane);
        if (channel < 0) continue;
        const double inverse = static_cast<double>(inverse_deviation(stats[runs_.channels + channel]));
        dscale_shift[channel] = static_cast<float>(total(sums.second, lane) * inverse);
        dscale_shift[runs_.channels + channel] = static_cast<float>(total(sums.first, lane));
      }
    };
  }

  // dscale_shift sums over `elements` of each channel.
  template <typename T>
  auto applying(const BackwardOperands<T>& on, const float* dscale_shift, double elements, T* dx) const {
    return [=, this](std::int64_t block) {
      const Normalization by = normalization(block, on.scale_shift, on.stats);
      return [=, this, lanes = corrections(block, by, on.stats, dscale_shift, elements)](std::int64_t sample) {
        const std::int64_t offset = runs_.offset(sample, block);
        apply_gradient(on.x + offset, on.dy + offset, dx + offset, runs_.length, by, lanes.first, lanes.second,
                       activation_, stream_ && dx != on.dy);
      };
    };
  }

 private:
  // What the batch's mean and variance take off the gradient: a constant, and a slope times x - mean.
  std::pair<Lanes, Lanes> corrections(std::int64_t block, const Normalization& by, const float* stats,
                                      const float* dscale_shift, double elements) const {
    Lanes constant{};
    Lanes slope{};
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const std::int64_t channel = runs_.channel(block, lane);
      if (channel < 0) continue;
      const double factor = static_cast<double>(by.factor.value[lane]) / elements;
      const double inverse = static_cast<double>(inverse_deviation(stats[runs_.channels + channel]));
      constant.value[lane] = static_cast<float>(factor * static_cast<double>(dscale_shift[runs_.channels + channel]));
      slope.value[lane] = static_cast<float>(factor * inverse * static_cast<double>(dscale_shift[channel]));
    }
    return {constant, slope};
  }
};

template <typename T>
class BatchNormBackward : public BackwardKernel {
 public:
  explicit BatchNormBackward(const KernelRequest& request) : BackwardKernel(request) {
    outputs[0] = inputs[0];
    need_sums();
  }

  Status run(std::span<void* const> operands, const StepContext& /*context*/) override {
    const BackwardOperands<T> on(operands);
    auto* dscale_shift = static_cast<float*>(operands[5]);
    sweep(operands.back(), summing(on), storing(on.stats, dscale_shift),
          applying(on, dscale_shift, count(), static_cast<T*>(operands[4])));
    return {};
  }
};

template <typename T>
class BatchNormBackwardSums : public BackwardKernel {
 public:
  explicit BatchNormBackwardSums(const KernelRequest& request) : BackwardKernel(request) { need_sums(); }

  Status run(std::span<void* const> operands, const StepContext& /*context*/) override {
    const BackwardOperands<T> on(operands);
    sweep_sums(operands.back(), summing(on), storing(on.stats, static_cast<float*>(operands[4])));
    return {};
  }
};

template <typename T>
class BatchNormBackwardApply : public BackwardKernel {
 public:
  explicit BatchNormBackwardApply(const KernelRequest& request)
      : BackwardKernel(request), elements_(static_cast<double>(request.as<graph::NormAttributes>().channel_elements)) {
    outputs[0] = inputs[0];
  }

  Status run(std::span<void* const> operands, const StepContext& /*context*/) override {
    sweep_runs(applying(BackwardOperands<T>(operands), static_cast<const float*>(operands[4]), elements_,
                        static_cast<T*>(operands[5])));
    return {};
  }

 private:
  double elements_;
};

KernelPtr make_batch_norm_backward(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return make_for_dtype<BatchNormBackward>(request);
}

KernelPtr make_batch_norm_backward_sums(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return make_for_dtype<BatchNormBackwardSums>(request);
}

KernelPtr make_batch_norm_backward_apply(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return make_for_dtype<BatchNormBackwardApply>(request);
}

}  // namespace

KernelMakers batch_norm_backward_kernels() {
  return {
      {graph::OpKind::kBatchNormBackward, make_batch_norm_backward},
      {graph::OpKind::kBatchNormBackwardSums, make_batch_norm_backward_sums},
      {graph::OpKind::kBatchNormBackwardApply, make_batch_norm_backward_apply},
  };
}

}  // namespace sluice::kernels
