// Local response normalization across channels (Krizhevsky et al. 2012), a loop of our own: oneDNN's wants a workspace
// that lives from forward to backward, where ours makes the sums again from x.
//
//   scale[c] = bias + alpha / size * sum of x[k]^2 over the window of `size` channels around c;  y = x * scale^-beta
//
// Row-major images, 16 pixels at a time; sums run over the window in order.
#include <algorithm>
#include <cmath>

#include "sluice/exec/backends/onednn/loop_kernel.hpp"
#include "sluice/exec/backends/onednn/vector_code.hpp"

namespace sluice {
namespace {

class ResponseNorm {
 public:
  ResponseNorm(const Shape& shape, const Attributes& attributes)
      : samples_(shape[0]),
        channels_(shape[1]),
        pixels_(element_count(shape) / (shape[0] * shape[1])),
        before_((attributes.size - 1) / 2),
        after_(attributes.size / 2),
        factor_(attributes.alpha / static_cast<float>(attributes.size)),
        beta_(attributes.beta),
        bias_(attributes.epsilon) {}

  template <typename T>
  void forward(const T* x, T* y) const {
    for_each_strip([&](std::int64_t begin, std::int64_t count) {
      for (std::int64_t c = 0; c < channels_; ++c) {
        float scale[kLanes];
        scale_of(x + begin, c, count, scale);
        for (std::int64_t i = 0; i < count; ++i) {
          const std::int64_t at = begin + c * pixels_ + i;
          put(get(x[at]) * std::pow(scale[i], -beta_), y[at]);
        }
      }
    });
  }

  // dx[c] = dy[c] scale[c]^-beta - 2 factor beta x[c] (sum of dy[k] x[k] scale[k]^(-beta - 1) over the k that see c)
  template <typename T>
  void backward(const T* x, const T* dy, T* dx) const {
    for_each_strip([&](std::int64_t begin, std::int64_t count) {
      for (std::int64_t c = 0; c < channels_; ++c) {
        float sum[kLanes] = {};
        float direct[kLanes];
        float scale[kLanes];
        const std::int64_t last = std::min(channels_ - 1, c + before_);
        for (std::int64_t k = std::max<std::int64_t>(0, c - after_); k <= last; ++k) {
          scale_of(x + begin, k, count, scale);
          for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t at = begin + k * pixels_ + i;
            const float through = get(dy[at]) * std::pow(scale[i], -beta_);
            if (k == c) direct[i] = through;
            sum[i] += through * get(x[at]) / scale[i];
          }
        }
        for (std::int64_t i = 0; i < count; ++i) {
          const std::int64_t at = begin + c * pixels_ + i;
          put(direct[i] - 2 * factor_ * beta_ * get(x[at]) * sum[i], dx[at]);
        }
      }
    });
  }

 private:
  static float get(float value) { return value; }
  static float get(BFloat16 value) { return to_float(value); }
  static void put(float value, float& to) { to = value; }
  static void put(float value, BFloat16& to) { to = to_bf16(value); }

  // Calls `body(offset of the strip in channel 0, pixels)` for strips of up to 16 pixels of one sample.
  template <typename Body>
  void for_each_strip(const Body& body) const {
    const std::int64_t strips = (pixels_ + kLanes - 1) / kLanes;
#pragma omp parallel for schedule(static)
    for (std::int64_t job = 0; job < samples_ * strips; ++job) {
      const std::int64_t first = job % strips * kLanes;
      body(job / strips * channels_ * pixels_ + first, std::min(kLanes, pixels_ - first));
    }
  }

  template <typename T>
  void scale_of(const T* strip, std::int64_t channel, std::int64_t count, float* scale) const {
    float sum[kLanes] = {};
    const std::int64_t last = std::min(channels_ - 1, channel + after_);
    for (std::int64_t k = std::max<std::int64_t>(0, channel - before_); k <= last; ++k)
      for (std::int64_t i = 0; i < count; ++i) {
        const float value = get(strip[k * pixels_ + i]);
        sum[i] += value * value;
      }
    for (std::int64_t i = 0; i < count; ++i) scale[i] = bias_ + factor_ * sum[i];
  }

  std::int64_t samples_, channels_, pixels_;
  std::int64_t before_, after_;  // channels of the window on either side
  float factor_, beta_, bias_;
};

}  // namespace

KernelPtr make_local_response_norm(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const ResponseNorm norm(request.inputs[0].shape, request.attributes);
  const bool narrow = request.inputs[0].dtype == DType::kBF16;
  return std::make_unique<LoopKernel>(
      request, [norm, narrow](Operands operands, const StepContext& /*context*/) -> Status {
        if (narrow) {
          norm.forward(operand<const BFloat16>(operands, 0), operand<BFloat16>(operands, 1));
        } else {
          norm.forward(operand<const float>(operands, 0), operand<float>(operands, 1));
        }
        return {};
      });
}

KernelPtr make_local_response_norm_backward(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const ResponseNorm norm(request.inputs[0].shape, request.attributes);
  const bool narrow = request.inputs[0].dtype == DType::kBF16;
  return std::make_unique<LoopKernel>(
      request, [norm, narrow](Operands operands, const StepContext& /*context*/) -> Status {
        if (narrow) {
          norm.backward(operand<const BFloat16>(operands, 0), operand<const BFloat16>(operands, 1),
                        operand<BFloat16>(operands, 2));
        } else {
          norm.backward(operand<const float>(operands, 0), operand<const float>(operands, 1),
                        operand<float>(operands, 2));
        }
        return {};
      });
}

}  // namespace sluice
