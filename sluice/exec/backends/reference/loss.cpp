#include <algorithm>
#include <cmath>

#include "sluice/exec/backends/reference/reference_kernels.hpp"

namespace sluice {

void reference_softmax_cross_entropy(const ReferenceCall& call) {
  const auto logits = call.input<float>(0);
  const auto labels = call.input<std::int32_t>(1);
  const auto probabilities = call.output<float>(1);
  const auto classes = static_cast<std::size_t>(call.input_shape(0)[1]);
  double loss = 0;
  for (std::size_t n = 0; n < labels.size(); ++n) {
    const auto row = logits.subspan(n * classes, classes);
    const double highest = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (const float logit : row) sum += std::exp(logit - highest);
    for (std::size_t k = 0; k < classes; ++k)
      probabilities[n * classes + k] = static_cast<float>(std::exp(row[k] - highest) / sum);
    loss += std::log(sum) + highest - row[static_cast<std::size_t>(labels[n])];
  }
  call.output<float>(0)[0] = static_cast<float>(loss / static_cast<double>(labels.size()));
}

void reference_softmax_cross_entropy_backward(const ReferenceCall& call) {
  const auto probabilities = call.input<float>(0);
  const auto labels = call.input<std::int32_t>(1);
  const auto dlogits = call.output<float>(0);
  const auto classes = static_cast<std::size_t>(call.input_shape(0)[1]);
  for (std::size_t i = 0; i < dlogits.size(); ++i) {
    const bool target = static_cast<std::size_t>(labels[i / classes]) == i % classes;
    dlogits[i] = (probabilities[i] - (target ? 1.0F : 0.0F)) / static_cast<float>(labels.size());
  }
}

}  // namespace sluice
