// Losses: softmax with cross-entropy against labels, and logistic cross-entropy against one target. Rows are shared
// between threads; their losses wait in the workspace and are summed in row order.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "sluice/kernels/onednn/loops/loop_kernel.hpp"
#include "sluice/kernels/onednn/loops/softmax_row.hpp"

namespace sluice::kernels {
namespace {

constexpr std::int32_t kIgnored = -1;

// The rows of logits of one op, and where their labels are among all labels.
struct Rows {
  explicit Rows(const KernelRequest& request)
      : classes(request.inputs[0].shape.back()),
        count(graph::element_count(request.inputs[0].shape) / classes),
        first(request.slice.begin),
        labels(graph::element_count(request.inputs[1].shape)) {}
  std::int64_t classes;
  std::int64_t count;
  std::int64_t first;
  std::int64_t labels;
};

Status check_labels(const std::int32_t* labels, const Rows& rows) {
  for (std::int64_t row = rows.first; row < rows.first + rows.count; ++row) {
    if (labels[row] == kIgnored || (0 <= labels[row] && labels[row] < rows.classes)) continue;
    return Error{ErrorCode::kBadInput, "label " + std::to_string(labels[row]) + " of sample " + std::to_string(row) +
                                           " is outside the model's " + std::to_string(rows.classes) +
                                           " classes; check the data set against --classes"};
  }
  return {};
}

// Labels that count in the mean; at least 1, so that a step without any has loss 0.
std::int64_t counted(const std::int32_t* labels, const Rows& rows) {
  return std::max<std::int64_t>(1, rows.labels - std::count(labels, labels + rows.labels, kIgnored));
}

SLUICE_VECTOR_CLONES RowMass probabilities_of_row(const float* logits, std::int64_t classes, float* probabilities) {
  return softmax_row(logits, classes, 1.0F, probabilities);
}

// Reads the label's logit first: probabilities may lie over the logits.
double row_loss(const float* logits, std::int64_t classes, std::int32_t label, float* probabilities) {
  const double target = label == kIgnored ? 0.0F : logits[label];
  const RowMass mass = probabilities_of_row(logits, classes, probabilities);
  return label == kIgnored ? 0 : std::log(static_cast<double>(mass.sum)) + mass.highest - target;
}

Status cross_entropy(Operands operands, const Rows& rows, bool accumulate) {
  const auto* logits = operand<const float>(operands, 0);
  const auto* labels = operand<const std::int32_t>(operands, 1);
  const std::size_t outputs = accumulate ? 3 : 2;
  auto* loss = operand<float>(operands, outputs);
  auto* probabilities = operand<float>(operands, outputs + 1);
  auto* row_losses = operand<double>(operands, outputs + 2);
  SLUICE_RETURN_IF_ERROR(check_labels(labels, rows));
  for_rows(rows.count, rows.classes, [&](std::int64_t row) {
    const std::int64_t first = row * rows.classes;
    row_losses[row] = row_loss(logits + first, rows.classes, labels[rows.first + row], probabilities + first);
  });
  double sum = 0;
  for (std::int64_t row = 0; row < rows.count; ++row) sum += row_losses[row];
  const auto mean = static_cast<float>(sum / static_cast<double>(counted(labels, rows)));
  *loss = accumulate ? *loss + mean : mean;
  return {};
}

template <typename T>
SLUICE_FORCE_INLINE void scale_row(const float* from, std::int64_t count, float factor, T* to) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) store(to, i, from[i] * factor);
}
SLUICE_VECTOR_CLONES void scaled_row(const float* from, std::int64_t count, float factor, float* to) {
  scale_row(from, count, factor, to);
}
SLUICE_VECTOR_CLONES void scaled_row(const float* from, std::int64_t count, float factor, BFloat16* to) {
  scale_row(from, count, factor, to);
}

// What gradients of losses are multiplied by: the last of an op's inputs, where there are more than its `own`.
float scale_of_loss(Operands operands, std::size_t inputs, std::size_t own) {
  return inputs > own ? *operand<const float>(operands, own) : 1.0F;
}

template <typename T>
void cross_entropy_backward(Operands operands, std::size_t inputs, const Rows& rows) {
  const auto* probabilities = operand<const float>(operands, 0);
  const auto* labels = operand<const std::int32_t>(operands, 1);
  auto* dlogits = operand<T>(operands, inputs);
  const float scale = scale_of_loss(operands, inputs, 2) / static_cast<float>(counted(labels, rows));
  for_rows(rows.count, rows.classes, [&](std::int64_t row) {
    const std::int64_t first = row * rows.classes;
    const std::int32_t label = labels[rows.first + row];
    if (label == kIgnored) {
      std::fill_n(dlogits + first, rows.classes, T{});
      return;
    }
    const float at_label = (probabilities[first + label] - 1.0F) * scale;
    scaled_row(probabilities + first, rows.classes, scale, dlogits + first);
    store(dlogits, first + label, at_label);
  });
}

// log(1 + e^x) - target x, without overflow.
double logistic_loss(double logit, double target) {
  return std::max(logit, 0.0) + std::log1p(std::exp(-std::fabs(logit))) - target * logit;
}

template <typename T>
void logistic_backward(const float* logits, std::int64_t count, float target, float loss_scale, T* dlogits) {
  const float scale = loss_scale / static_cast<float>(count);
  for (std::int64_t i = 0; i < count; ++i) store(dlogits, i, (vector_sigmoid(logits[i]) - target) * scale);
}

KernelPtr make_softmax_cross_entropy(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const Rows rows(request);
  auto kernel = std::make_unique<LoopKernel>(
      request, [rows, accumulate = request.slice.accumulate](Operands operands, const StepContext& /*context*/) {
        return cross_entropy(operands, rows, accumulate);
      });
  kernel->workspace_bytes = rows.count * Bytes{sizeof(double)};
  return kernel;
}

KernelPtr make_softmax_cross_entropy_backward(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const Rows rows(request);
  const std::size_t inputs = request.inputs.size();
  return std::make_unique<LoopKernel>(
      request, [rows, inputs, dtype = request.outputs[0].dtype](Operands operands, const StepContext& /*context*/) {
        with_element(dtype, [&]<typename T>(T) { cross_entropy_backward<T>(operands, inputs, rows); });
        return Status{};
      });
}

KernelPtr make_sigmoid_cross_entropy(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const std::int64_t count = graph::element_count(request.inputs[0].shape);
  return std::make_unique<LoopKernel>(request, [count, target = request.as<graph::TargetAttributes>().target](
                                                   Operands operands, const StepContext& /*context*/) {
    const auto* logits = operand<const float>(operands, 0);
    double loss = 0;
    for (std::int64_t i = 0; i < count; ++i) loss += logistic_loss(logits[i], target);
    *operand<float>(operands, 1) = static_cast<float>(loss / static_cast<double>(count));
    return Status{};
  });
}

KernelPtr make_sigmoid_cross_entropy_backward(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const std::int64_t count = graph::element_count(request.inputs[0].shape);
  const std::size_t inputs = request.inputs.size();
  return std::make_unique<LoopKernel>(
      request, [=, target = request.as<graph::TargetAttributes>().target, dtype = request.outputs[0].dtype](
                   Operands operands, const StepContext& /*context*/) {
        with_element(dtype, [&]<typename T>(T) {
          logistic_backward(operand<const float>(operands, 0), count, target, scale_of_loss(operands, inputs, 1),
                            operand<T>(operands, inputs));
        });
        return Status{};
      });
}

KernelPtr make_mean_loss(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const std::int64_t count = graph::element_count(request.inputs[0].shape);
  return std::make_unique<LoopKernel>(request, [count](Operands operands, const StepContext& /*context*/) {
    const auto* x = operand<const float>(operands, 0);
    const double sum = std::accumulate(x, x + count, 0.0);
    *operand<float>(operands, 1) = static_cast<float>(sum / static_cast<double>(count));
    return Status{};
  });
}

KernelPtr make_mean_loss_backward(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const std::int64_t count = graph::element_count(request.inputs[0].shape);
  const std::size_t inputs = request.inputs.size();
  return std::make_unique<LoopKernel>(
      request, [=, dtype = request.outputs[0].dtype](Operands operands, const StepContext& /*context*/) {
        const float each = scale_of_loss(operands, inputs, 1) / static_cast<float>(count);
        with_element(dtype, [&]<typename T>(T) {
          for (std::int64_t i = 0; i < count; ++i) store(operand<T>(operands, inputs), i, each);
        });
        return Status{};
      });
}

}  // namespace

KernelMakers loss_kernels() {
  return {
      {graph::OpKind::kSoftmaxCrossEntropy, make_softmax_cross_entropy},
      {graph::OpKind::kSoftmaxCrossEntropyBackward, make_softmax_cross_entropy_backward},
      {graph::OpKind::kSigmoidCrossEntropy, make_sigmoid_cross_entropy},
      {graph::OpKind::kSigmoidCrossEntropyBackward, make_sigmoid_cross_entropy_backward},
      {graph::OpKind::kMeanLoss, make_mean_loss},
      {graph::OpKind::kMeanLossBackward, make_mean_loss_backward},
  };
}

}  // namespace sluice::kernels
