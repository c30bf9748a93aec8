#include <algorithm>
#include <cstring>

#include "sluice/exec/backends/reference/reference_kernels.hpp"

namespace sluice {

void reference_relu(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto y = call.output<float>(0);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::max(x[i], 0.0F);
}

void reference_relu_backward(const ReferenceCall& call) {
  const auto y = call.input<float>(0);
  const auto dy = call.input<float>(1);
  const auto dx = call.output<float>(0);
  for (std::size_t i = 0; i < dx.size(); ++i) dx[i] = y[i] > 0 ? dy[i] : 0.0F;
}

void reference_add(const ReferenceCall& call) {
  const auto a = call.input<float>(0);
  const auto b = call.input<float>(1);
  const auto y = call.output<float>(0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const float sum = a[i] + b[i];
    y[i] = call.attributes().relu ? std::max(sum, 0.0F) : sum;
  }
}

void reference_copy(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto y = call.output<float>(0);
  std::copy(x.begin(), x.end(), y.begin());
}

void reference_slice_batch(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto y = call.output<float>(0);
  const auto sample = static_cast<std::ptrdiff_t>(element_count(call.output_shape(0)) / call.output_shape(0)[0]);
  std::copy_n(x.begin() + call.attributes().out_begin * sample, y.size(), y.begin());
}

void reference_place_batch(const ReferenceCall& call) {
  const auto y = call.input<float>(0);
  const auto x = call.output<float>(0);
  const auto sample = static_cast<std::ptrdiff_t>(element_count(call.input_shape(0)) / call.input_shape(0)[0]);
  std::copy(y.begin(), y.end(), x.begin() + call.attributes().out_begin * sample);
}

void reference_sgd_update(const ReferenceCall& call, float learning_rate) {
  const auto w = call.input<float>(0);
  const auto dw = call.input<float>(1);
  const auto momentum = call.input<float>(2);
  const auto new_w = call.output<float>(0);
  const auto new_momentum = call.output<float>(1);
  const Attributes& attributes = call.attributes();
  for (std::size_t i = 0; i < w.size(); ++i) {
    const float velocity = attributes.momentum * momentum[i] + (dw[i] + attributes.weight_decay * w[i]);
    new_momentum[i] = velocity;
    new_w[i] = w[i] - learning_rate * velocity;
  }
}

}  // namespace sluice
