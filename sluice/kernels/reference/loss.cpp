// Softmax and losses.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/kernels/reference/reference_kernels.hpp"

namespace sluice::kernels {
namespace {

constexpr std::int32_t kLeftOut = -1;  // a label that does not count

double counted(std::span<const std::int32_t> labels) {
  return static_cast<double>(labels.size()) - static_cast<double>(std::count(labels.begin(), labels.end(), kLeftOut));
}

void softmax(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto y = call.output<float>(0);
  const graph::Shape& shape = call.input_shape(0);
  const auto columns = as_index(shape.back());
  const double factor = call.as<graph::SoftmaxAttributes>().factor;
  for (std::size_t row = 0; row < x.size() / columns; ++row) {
    const std::size_t seen = call.as<graph::SoftmaxAttributes>().causal
                                 ? std::min(columns, row % static_cast<std::size_t>(shape[shape.size() - 2]) + 1)
                                 : columns;
    double highest = factor * x[row * columns];
    for (std::size_t k = 0; k < seen; ++k) highest = std::max(highest, factor * x[row * columns + k]);
    double sum = 0;
    for (std::size_t k = 0; k < seen; ++k) sum += std::exp(factor * x[row * columns + k] - highest);
    for (std::size_t k = 0; k < columns; ++k) {
      const double value = k < seen ? std::exp(factor * x[row * columns + k] - highest) / sum : 0.0;
      y[row * columns + k] = static_cast<float>(value);
    }
  }
}

// Columns that a row does not see have y = 0, so their gradient is 0 too.
void softmax_backward(const ReferenceCall& call) {
  const auto y = call.input<float>(0);
  const auto dy = call.input<float>(1);
  const auto dx = call.output<float>(0);
  const auto columns = as_index(call.input_shape(0).back());
  for (std::size_t begin = 0; begin < y.size(); begin += columns) {
    double sum = 0;
    for (std::size_t i = begin; i < begin + columns; ++i) sum += double{y[i]} * dy[i];
    for (std::size_t i = begin; i < begin + columns; ++i)
      dx[i] = static_cast<float>(call.as<graph::SoftmaxAttributes>().factor * y[i] * (dy[i] - sum));
  }
}

void softmax_cross_entropy(const ReferenceCall& call) {
  const auto logits = call.input<float>(0);
  const auto labels = call.input<std::int32_t>(1);
  const auto probabilities = call.output<float>(1);
  const auto classes = as_index(call.input_shape(0).back());
  const auto first = as_index(call.slice().begin);
  double loss = 0;
  for (std::size_t n = 0; n < logits.size() / classes; ++n) {
    const auto row = logits.subspan(n * classes, classes);
    const double highest = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (const float logit : row) sum += std::exp(logit - highest);
    const std::int32_t label = labels[first + n];
    if (label != kLeftOut) loss += std::log(sum) + highest - row[as_index(label)];
    for (std::size_t k = 0; k < classes; ++k)
      probabilities[n * classes + k] = static_cast<float>(std::exp(row[k] - highest) / sum);
  }
  const double before = call.slice().accumulate ? call.input<float>(2)[0] : 0.0F;
  call.output<float>(0)[0] = static_cast<float>(before + (counted(labels) > 0 ? loss / counted(labels) : 0.0));
}

// The last of an op's inputs, where there are more than its `own`.
double scale_of_loss(const ReferenceCall& call, std::size_t own) {
  return call.input_count() > own ? call.input<float>(own)[0] : 1.0F;
}

void softmax_cross_entropy_backward(const ReferenceCall& call) {
  const auto probabilities = call.input<float>(0);
  const auto labels = call.input<std::int32_t>(1);
  const auto dlogits = call.output<float>(0);
  const auto classes = as_index(call.input_shape(0).back());
  const auto first = as_index(call.slice().begin);
  const double count = counted(labels);
  const double scale = scale_of_loss(call, 2);
  for (std::size_t i = 0; i < dlogits.size(); ++i) {
    const std::int32_t label = labels[first + i / classes];
    const double target = label == static_cast<std::int32_t>(i % classes) ? 1.0 : 0.0;
    dlogits[i] = label == kLeftOut ? 0.0F : static_cast<float>(scale * (probabilities[i] - target) / count);
  }
}

void sigmoid_cross_entropy(const ReferenceCall& call) {
  const auto logits = call.input<float>(0);
  const double target = call.as<graph::TargetAttributes>().target;
  double loss = 0;
  for (const double x : logits) loss += std::max(x, 0.0) - x * target + std::log1p(std::exp(-std::abs(x)));
  call.output<float>(0)[0] = static_cast<float>(loss / static_cast<double>(logits.size()));
}

void sigmoid_cross_entropy_backward(const ReferenceCall& call) {
  const auto logits = call.input<float>(0);
  const auto dlogits = call.output<float>(0);
  const double target = call.as<graph::TargetAttributes>().target;
  const double scale = scale_of_loss(call, 1) / static_cast<double>(logits.size());
  for (std::size_t i = 0; i < dlogits.size(); ++i)
    dlogits[i] = static_cast<float>((1 / (1 + std::exp(-double{logits[i]})) - target) * scale);
}

void mean_loss(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const double sum = std::accumulate(x.begin(), x.end(), 0.0);
  call.output<float>(0)[0] = static_cast<float>(sum / static_cast<double>(x.size()));
}

void mean_loss_backward(const ReferenceCall& call) {
  const auto dx = call.output<float>(0);
  std::ranges::fill(dx, static_cast<float>(scale_of_loss(call, 1) / static_cast<double>(dx.size())));
}

}  // namespace

SLUICE_REFERENCE_KERNEL(kSoftmax, softmax)
SLUICE_REFERENCE_KERNEL(kSoftmaxBackward, softmax_backward)
SLUICE_REFERENCE_KERNEL(kSoftmaxCrossEntropy, softmax_cross_entropy)
SLUICE_REFERENCE_KERNEL(kSoftmaxCrossEntropyBackward, softmax_cross_entropy_backward)
SLUICE_REFERENCE_KERNEL(kSigmoidCrossEntropy, sigmoid_cross_entropy)
SLUICE_REFERENCE_KERNEL(kSigmoidCrossEntropyBackward, sigmoid_cross_entropy_backward)
SLUICE_REFERENCE_KERNEL(kMeanLoss, mean_loss)
SLUICE_REFERENCE_KERNEL(kMeanLossBackward, mean_loss_backward)

}  // namespace sluice::kernels
