// Local response normalization across channels (Krizhevsky et al. 2012), a loop of our own: oneDNN's wants a workspace
// that lives from forward to backward, where ours makes the sums again from x.
//
//   scale[c] = bias + alpha / size * sum of x[k]^2 over the window of `size` channels around c;  y = x * scale^-beta
//
// A strip of 16 pixels is gathered with all its channels into scratch of the thread's own, channel by channel, from
// row-major or blocked images; there all work is on vectors of 16 pixels. Sums run over the window in order.
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "sluice/kernels/onednn/loops/channel_sweep.hpp"
#include "sluice/kernels/onednn/loops/loop_kernel.hpp"

namespace sluice::kernels {
namespace {

float widened(float value) { return value; }
float widened(BFloat16 value) { return to_float(value); }
void put(float value, float& to) { to = value; }
void put(float value, BFloat16& to) { to = to_bf16(value); }

class ResponseNorm {
 public:
  ResponseNorm(const Layout& layout, const graph::Shape& shape, const graph::ResponseNormAttributes& attributes)
      : runs_(layout, shape),
        before_((attributes.channels - 1) / 2),
        after_(attributes.channels / 2),
        factor_(attributes.alpha / static_cast<float>(attributes.channels)),
        beta_(attributes.beta),
        bias_(attributes.bias) {}

  // Scratch of all threads.
  Bytes workspace_bytes() const {
    return omp_get_max_threads() * kArrays * runs_.channels * kLanes * Bytes{sizeof(float)};
  }

  template <typename T>
  void forward(const T* x, T* y, float* workspace) const {
    for_each_strip(workspace, [&](const Strip& strip, float* scratch) {
      float* const values = array(scratch, 0);
      float* const powers = array(scratch, 1);
      gather(x, strip, values);
      scales_and_powers(values, array(scratch, 2), powers);
      for (std::int64_t i = 0; i < runs_.channels * kLanes; ++i) values[i] *= powers[i];
      scatter(values, strip, y);
    });
  }

  // dx[c] = dy[c] scale[c]^-beta - 2 factor beta x[c] (sum of dy[k] x[k] scale[k]^(-beta - 1) over the k that see c)
  template <typename T>
  void backward(const T* x, const T* dy, T* dx, float* workspace) const {
    for_each_strip(workspace, [&](const Strip& strip, float* scratch) {
      float* const values = array(scratch, 0);
      float* const direct = array(scratch, 1);
      float* const through = array(scratch, 2);
      float* const gradients = array(scratch, 3);
      gather(x, strip, values);
      gather(dy, strip, gradients);
      scales_and_powers(values, through, direct);
      for (std::int64_t i = 0; i < runs_.channels * kLanes; ++i) {
        direct[i] *= gradients[i];
        through[i] = direct[i] * values[i] / through[i];
      }
      for (std::int64_t c = 0; c < runs_.channels; ++c) {
        float sum[kLanes];
        sum_window(through, c, after_, before_, sum);
        for (std::int64_t i = 0; i < kLanes; ++i)
          direct[c * kLanes + i] -= 2 * factor_ * beta_ * values[c * kLanes + i] * sum[i];
      }
      scatter(direct, strip, dx);
    });
  }

 private:
  static constexpr std::int64_t kArrays = 4;

  struct Strip {
    std::int64_t sample, first, count;  // pixels
  };

  float* array(float* scratch, std::int64_t index) const { return scratch + index * runs_.channels * kLanes; }

  template <typename Body>
  void for_each_strip(float* workspace, const Body& body) const {
    const std::int64_t strips = (runs_.pixels + kLanes - 1) / kLanes;
#pragma omp parallel
    {
      float* const scratch = workspace + omp_get_thread_num() * kArrays * runs_.channels * kLanes;
#pragma omp for schedule(static)
      for (std::int64_t job = 0; job < runs_.samples * strips; ++job) {
        const std::int64_t first = job % strips * kLanes;
        body({job / strips, first, std::min(kLanes, runs_.pixels - first)}, scratch);
      }
    }
  }

  // The element of a channel's pixel.
  std::int64_t offset(const Strip& strip, std::int64_t channel, std::int64_t pixel) const {
    if (!runs_.blocked) return runs_.offset(strip.sample, channel) + strip.first + pixel;
    return runs_.offset(strip.sample, channel / kChannelBlock) + (strip.first + pixel) * kChannelBlock +
           channel % kChannelBlock;
  }

  template <typename T>
  void gather(const T* from, const Strip& strip, float* to) const {
    for (std::int64_t c = 0; c < runs_.channels; ++c)
      for (std::int64_t i = 0; i < kLanes; ++i)
        to[c * kLanes + i] = i < strip.count ? widened(from[offset(strip, c, i)]) : 0.0F;
  }

  template <typename T>
  void scatter(const float* from, const Strip& strip, T* to) const {
    for (std::int64_t c = 0; c < runs_.channels; ++c)
      for (std::int64_t i = 0; i < strip.count; ++i) put(from[c * kLanes + i], to[offset(strip, c, i)]);
    if (!runs_.blocked) return;
    for (std::int64_t c = runs_.channels; c % kChannelBlock != 0; ++c)  // padding
      for (std::int64_t i = 0; i < strip.count; ++i) put(0.0F, to[offset(strip, c, i)]);
  }

  // Of channels [c - before, c + after].
  void sum_window(const float* values, std::int64_t c, std::int64_t before, std::int64_t after, float* sum) const {
    std::fill_n(sum, kLanes, 0.0F);
    const std::int64_t last = std::min(runs_.channels - 1, c + after);
    for (std::int64_t k = std::max<std::int64_t>(0, c - before); k <= last; ++k)
      for (std::int64_t i = 0; i < kLanes; ++i) sum[i] += values[k * kLanes + i];
  }

  // The scale of every element, and scale^-beta.
  void scales_and_powers(const float* values, float* scales, float* powers) const {
    const std::int64_t count = runs_.channels * kLanes;
    for (std::int64_t i = 0; i < count; ++i) powers[i] = values[i] * values[i];
    for (std::int64_t c = 0; c < runs_.channels; ++c) {
      float sum[kLanes];
      sum_window(powers, c, before_, after_, sum);
      for (std::int64_t i = 0; i < kLanes; ++i) scales[c * kLanes + i] = bias_ + factor_ * sum[i];
    }
    if (beta_ == 0.75F) {  // the papers' value: two square roots
      for (std::int64_t i = 0; i < count; ++i) {
        const float root = std::sqrt(scales[i]);
        powers[i] = 1.0F / (root * std::sqrt(root));
      }
    } else {
      for (std::int64_t i = 0; i < count; ++i) powers[i] = std::pow(scales[i], -beta_);
    }
  }

  ChannelRuns runs_;
  std::int64_t before_, after_;  // channels of the window on either side
  float factor_, beta_, bias_;
};

Layout image_layout(const OperandRequest& x) {
  if (!x.layout) return preferred_image_layout(x.shape, x.dtype);
  return is_blocked_image(*x.layout) ? *x.layout : plain_layout(x.shape, x.dtype);
}

template <typename Body>
KernelPtr make_response_kernel(const KernelRequest& request, const Body& body) {
  const Layout layout = image_layout(request.inputs[0]);
  const ResponseNorm norm(layout, request.inputs[0].shape, request.as<graph::ResponseNormAttributes>());
  const bool narrow = request.inputs[0].dtype == graph::DType::kBF16;
  auto kernel = std::make_unique<LoopKernel>(
      request, [norm, narrow, body](Operands operands, const StepContext& /*context*/) -> Status {
        auto* const workspace = static_cast<float*>(operands.back());
        if (narrow) {
          body(norm, operands, workspace, static_cast<BFloat16*>(nullptr));
        } else {
          body(norm, operands, workspace, static_cast<float*>(nullptr));
        }
        return {};
      });
  kernel->inputs.assign(request.inputs.size(), layout);
  kernel->outputs = {layout};
  kernel->workspace_bytes = norm.workspace_bytes();
  return kernel;
}

KernelPtr make_local_response_norm(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return make_response_kernel(request, [](const ResponseNorm& norm, Operands operands, float* workspace, auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    norm.forward(operand<const T>(operands, 0), operand<T>(operands, 1), workspace);
  });
}

KernelPtr make_local_response_norm_backward(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  return make_response_kernel(request, [](const ResponseNorm& norm, Operands operands, float* workspace, auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    norm.backward(operand<const T>(operands, 0), operand<const T>(operands, 1), operand<T>(operands, 2), workspace);
  });
}

}  // namespace

KernelMakers local_response_norm_kernels() {
  return {
      {graph::OpKind::kLocalResponseNorm, make_local_response_norm},
      {graph::OpKind::kLocalResponseNormBackward, make_local_response_norm_backward},
  };
}

}  // namespace sluice::kernels
