// Kernels that are loops of our own: the step's input, the loss and the parameter update.
//
// Every element is computed on its own and sums run in sample order, so the thread count does not change a bit.
#include <algorithm>
#include <cmath>
#include <functional>

#include "sluice/exec/backends/onednn/kernel.hpp"

namespace sluice {
namespace {

class LoopKernel : public Kernel {
 public:
  using Body = std::function<Status(std::span<void* const>, const StepContext&)>;

  LoopKernel(const KernelRequest& request, Body body) : body_(std::move(body)) {
    implementation = "loop";
    inputs = plain_layouts(request.inputs);
    outputs = plain_layouts(request.outputs);
  }
  Status run(std::span<void* const> operands, const StepContext& context) override { return body_(operands, context); }

 private:
  Body body_;
};

Status check_label(std::int32_t label, std::int64_t sample, std::int64_t classes) {
  if (0 <= label && label < classes) return {};
  return Error{ErrorCode::kBadInput, "label " + std::to_string(label) + " of sample " + std::to_string(sample) +
                                         " is outside the model's " + std::to_string(classes) +
                                         " classes; check the data set against --classes"};
}

// Loss of one sample; `probabilities` gets the softmax of `logits`.
double softmax_row(const float* logits, std::int64_t classes, std::int32_t label, float* probabilities) {
  const float highest = *std::max_element(logits, logits + classes);
  double sum = 0;
  for (std::int64_t k = 0; k < classes; ++k) {
    probabilities[k] = std::exp(logits[k] - highest);
    sum += probabilities[k];
  }
  const auto inverse = static_cast<float>(1.0 / sum);
  for (std::int64_t k = 0; k < classes; ++k) probabilities[k] *= inverse;
  return std::log(sum) + highest - logits[label];
}

void softmax_backward(const float* probabilities, const std::int32_t* labels, const Shape& shape, float* dlogits) {
  const float scale = 1.0F / static_cast<float>(shape[0]);
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t k = 0; k < shape[1]; ++k) {
      const std::int64_t i = n * shape[1] + k;
      dlogits[i] = (probabilities[i] - (labels[n] == k ? 1.0F : 0.0F)) * scale;
    }
}

// The update works on stored elements, padding included: padding is zero in all three and stays zero.
void sgd_update(std::span<void* const> operands, std::int64_t elements, const Attributes& attributes, float rate) {
  const auto* w = static_cast<const float*>(operands[0]);
  const auto* dw = static_cast<const float*>(operands[1]);
  const auto* momentum = static_cast<const float*>(operands[2]);
  auto* new_w = static_cast<float*>(operands[3]);
  auto* new_momentum = static_cast<float*>(operands[4]);
#pragma omp parallel for simd schedule(static)
  for (std::int64_t i = 0; i < elements; ++i) {
    const float velocity = attributes.momentum * momentum[i] + (dw[i] + attributes.weight_decay * w[i]);
    new_momentum[i] = velocity;
    new_w[i] = w[i] - rate * velocity;
  }
}

}  // namespace

KernelPtr make_input(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const auto images = static_cast<std::size_t>(element_count(request.outputs[0].shape));
  const auto labels = static_cast<std::size_t>(element_count(request.outputs[1].shape));
  return std::make_unique<LoopKernel>(
      request, [images, labels](std::span<void* const> operands, const StepContext& context) -> Status {
        SLUICE_CHECK(context.input != nullptr, "a step with an input op needs an input source");
        return context.input->fill(context.step, {static_cast<float*>(operands[0]), images},
                                   {static_cast<std::int32_t*>(operands[1]), labels});
      });
}

KernelPtr make_softmax_cross_entropy(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const Shape shape = request.inputs[0].shape;
  return std::make_unique<LoopKernel>(
      request, [shape](std::span<void* const> operands, const StepContext& /*context*/) -> Status {
        const auto* logits = static_cast<const float*>(operands[0]);
        const auto* labels = static_cast<const std::int32_t*>(operands[1]);
        auto* probabilities = static_cast<float*>(operands[3]);
        double loss = 0;
        for (std::int64_t n = 0; n < shape[0]; ++n) {
          SLUICE_RETURN_IF_ERROR(check_label(labels[n], n, shape[1]));
          loss += softmax_row(logits + n * shape[1], shape[1], labels[n], probabilities + n * shape[1]);
        }
        *static_cast<float*>(operands[2]) = static_cast<float>(loss / static_cast<double>(shape[0]));
        return {};
      });
}

KernelPtr make_softmax_cross_entropy_backward(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const Shape shape = request.inputs[0].shape;
  return std::make_unique<LoopKernel>(
      request, [shape](std::span<void* const> operands, const StepContext& /*context*/) -> Status {
        softmax_backward(static_cast<const float*>(operands[0]), static_cast<const std::int32_t*>(operands[1]), shape,
                         static_cast<float*>(operands[2]));
        return {};
      });
}

KernelPtr make_sgd_update(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const Layout layout = request.inputs[0].layout.value_or(plain_layout(request.inputs[0].shape));
  const auto elements = static_cast<std::int64_t>(layout.get_size() / sizeof(float));
  auto kernel =
      std::make_unique<LoopKernel>(request,
                                   [elements, attributes = request.attributes](std::span<void* const> operands,
                                                                               const StepContext& context) -> Status {
                                     sgd_update(operands, elements, attributes, context.learning_rate);
                                     return {};
                                   });
  kernel->inputs = {layout, layout, layout};
  kernel->outputs = {layout, layout};
  return kernel;
}

}  // namespace sluice
