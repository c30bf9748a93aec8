// Softmax and losses.
//
// Where a result may overwrite an operand, an element is read and written by the same thread; what other threads read
// of the row, they read before a sum over the row, for which all threads of a block wait.
#include "sluice/kernels/cuda/launch.cuh"
#include "sluice/kernels/cuda/operands.cuh"

namespace sluice::kernels::cuda {
namespace {

constexpr std::int32_t kLeftOut = -1;  // a label that does not count

std::int64_t rows_of(const graph::Shape& shape) {
  return graph::element_count(shape) / std::max<std::int64_t>(shape.back(), 1);
}

void softmax(const CudaCall& call) {
  const graph::Shape& shape = *call.input(0).shape;
  const Cells x = cells(call.input(0));
  const Cells y = cells(call.output(0));
  const std::int64_t columns = shape.back();
  const std::int64_t period = call.as<graph::SoftmaxAttributes>().causal ? shape[shape.size() - 2] : 0;
  const float factor = call.as<graph::SoftmaxAttributes>().factor;
  for_each_row(call.stream, rows_of(shape), [=] __device__(std::int64_t row, Block & block) {
    const std::int64_t begin = row * columns;
    const std::int64_t seen = period > 0 ? min(columns, row % period + 1) : columns;
    const float highest = block.largest(seen, [&](std::int64_t k) { return factor * x[begin + k]; });
    const float sum = block.sum(seen, [&](std::int64_t k) { return expf(factor * x[begin + k] - highest); });
    block.for_each(columns, [&](std::int64_t k) {
      y.set(begin + k, k < seen ? expf(factor * x[begin + k] - highest) / sum : 0.0F);
    });
  });
}

// Columns that a row does not see have y = 0, so their gradient is 0 too.
void softmax_backward(const CudaCall& call) {
  const graph::Shape& shape = *call.input(0).shape;
  const Cells y = cells(call.input(0));
  const Cells dy = cells(call.input(1));
  const Cells dx = cells(call.output(0));
  const std::int64_t columns = shape.back();
  const float factor = call.as<graph::SoftmaxAttributes>().factor;
  for_each_row(call.stream, rows_of(shape), [=] __device__(std::int64_t row, Block & block) {
    const std::int64_t begin = row * columns;
    const float sum = block.sum(columns, [&](std::int64_t k) { return y[begin + k] * dy[begin + k]; });
    block.for_each(columns, [&](std::int64_t k) { dx.set(begin + k, factor * y[begin + k] * (dy[begin + k] - sum)); });
  });
}

// All labels of a loss, of which the logits may be for some only.
struct Labels {
  const std::int32_t* all;
  std::int64_t total, first;

  explicit Labels(const CudaCall& call)
      : all(integers(call.input(1))), total(call.input(1).elements()), first(call.slice().begin) {}

  __device__ std::int32_t of_row(std::int64_t row) const { return all[first + row]; }
  // How many count: exact up to 2^24.
  __device__ float counted(Block& block) const {
    return block.sum(total, [&](std::int64_t i) { return all[i] == kLeftOut ? 0.0F : 1.0F; });
  }
};

// The probabilities of every row, and its loss into `losses`. A label that is no class adds nothing to the loss rather
// than read outside the row: labels are checked where batches are made.
void softmax_rows(const CudaCall& call, const Labels& labels, float* losses) {
  const Cells logits = cells(call.input(0));
  const Cells probabilities = cells(call.output(1));
  const std::int64_t classes = call.input(0).shape->back();
  for_each_row(call.stream, rows_of(*call.input(0).shape), [=] __device__(std::int64_t row, Block & block) {
    const std::int64_t begin = row * classes;
    const std::int32_t label = labels.of_row(row);
    const bool counts = label >= 0 && label < classes;
    const float chosen = counts ? logits[begin + label] : 0.0F;
    const float highest = block.largest(classes, [&](std::int64_t k) { return logits[begin + k]; });
    const float sum = block.sum(classes, [&](std::int64_t k) { return expf(logits[begin + k] - highest); });
    block.for_each(classes,
                   [&](std::int64_t k) { probabilities.set(begin + k, expf(logits[begin + k] - highest) / sum); });
    if (block.leads()) losses[row] = counts ? logf(sum) + (highest - chosen) : 0.0F;
  });
}

void softmax_cross_entropy(const CudaCall& call) {
  const Labels labels(call);
  auto* const losses = static_cast<float*>(call.workspace);
  softmax_rows(call, labels, losses);
  const std::int64_t rows = rows_of(*call.input(0).shape);
  const bool accumulates = call.slice().accumulate;
  const Cells before = accumulates ? cells(call.input(2)) : Cells();
  const Cells loss = cells(call.output(0));
  for_each_row(call.stream, 1, [=] __device__(std::int64_t, Block & block) {
    const float sum = block.sum(rows, [&](std::int64_t row) { return losses[row]; });
    const float count = labels.counted(block);
    if (block.leads()) loss.set(0, (accumulates ? before[0] : 0.0F) + (count > 0 ? sum / count : 0.0F));
  });
}

Bytes losses_workspace(const graph::Op&, const std::vector<graph::Shape>& inputs, const std::vector<graph::Shape>&) {
  return rows_of(inputs.at(0)) * static_cast<Bytes>(sizeof(float));
}

void softmax_cross_entropy_backward(const CudaCall& call) {
  const Labels labels(call);
  auto* const count = static_cast<float*>(call.workspace);
  for_each_row(call.stream, 1, [=] __device__(std::int64_t, Block & block) {
    const float counted = labels.counted(block);
    if (block.leads()) *count = counted;
  });
  const Cells probabilities = cells(call.input(0));
  const Cells dlogits = cells(call.output(0));
  const std::int64_t classes = call.input(0).shape->back();
  for_each_row(call.stream, rows_of(*call.input(0).shape), [=] __device__(std::int64_t row, Block & block) {
    const std::int64_t begin = row * classes;
    const std::int32_t label = labels.of_row(row);
    const float counted = *count;
    block.for_each(classes, [&](std::int64_t k) {
      const float distance = probabilities[begin + k] - (label == k ? 1.0F : 0.0F);
      dlogits.set(begin + k, label == kLeftOut ? 0.0F : distance / counted);
    });
  });
}

Bytes count_workspace(const graph::Op&, const std::vector<graph::Shape>&, const std::vector<graph::Shape>&) {
  return static_cast<Bytes>(sizeof(float));
}

// The loss is log(1 + exp x) - target x, in the form whose exponential does not overflow.
void sigmoid_cross_entropy(const CudaCall& call) {
  const Cells logits = cells(call.input(0));
  const Cells loss = cells(call.output(0));
  const float target = call.as<graph::TargetAttributes>().target;
  const std::int64_t count = call.input(0).elements();
  sum_rows<1>(
      call.stream, 1, count, call.workspace,
      [=] __device__(std::int64_t, std::int64_t i) {
        const float x = logits[i];
        return Sums<1>{{fmaxf(x, 0.0F) - x * target + log1pf(expf(-fabsf(x)))}};
      },
      [=] __device__(std::int64_t, const Sums<1>& sums) { loss.set(0, sums.of[0] / static_cast<float>(count)); });
}

Bytes sigmoid_workspace(const graph::Op&, const std::vector<graph::Shape>& inputs, const std::vector<graph::Shape>&) {
  return sum_rows_workspace<1>(1, graph::element_count(inputs.at(0)));
}

void sigmoid_cross_entropy_backward(const CudaCall& call) {
  const Cells logits = cells(call.input(0));
  const Cells dlogits = cells(call.output(0));
  const float target = call.as<graph::TargetAttributes>().target;
  const std::int64_t count = call.input(0).elements();
  for_each_element(call.stream, count, [=] __device__(std::int64_t i) {
    dlogits.set(i, (1 / (1 + expf(-logits[i])) - target) / static_cast<float>(count));
  });
}

}  // namespace

KernelEntries loss_kernels() {
  return {
      {graph::OpKind::kSoftmax, softmax},
      {graph::OpKind::kSoftmaxBackward, softmax_backward},
      {graph::OpKind::kSoftmaxCrossEntropy, softmax_cross_entropy, losses_workspace},
      {graph::OpKind::kSoftmaxCrossEntropyBackward, softmax_cross_entropy_backward, count_workspace},
      {graph::OpKind::kSigmoidCrossEntropy, sigmoid_cross_entropy, sigmoid_workspace},
      {graph::OpKind::kSigmoidCrossEntropyBackward, sigmoid_cross_entropy_backward},
  };
}

}  // namespace sluice::kernels::cuda
