#include "sluice/exec/backends/onednn/kernel.hpp"

namespace sluice {

std::vector<Layout> plain_layouts(const std::vector<OperandRequest>& operands) {
  std::vector<Layout> layouts;
  for (const OperandRequest& operand : operands) layouts.push_back(plain_layout(operand.shape, operand.dtype));
  return layouts;
}

KernelPtr make_kernel(const KernelRequest& request, const dnnl::engine& engine) {
  switch (request.kind) {
    case OpKind::kInput:
      return make_input(request);
    case OpKind::kConv2d:
      return make_convolution(request, engine);
    case OpKind::kConv2dBackwardData:
      return make_convolution_backward_data(request, engine);
    case OpKind::kConv2dBackwardWeights:
      return make_convolution_backward_weights(request, engine);
    case OpKind::kBatchNorm:
      return make_batch_norm(request, engine);
    case OpKind::kBatchNormBackward:
      return make_batch_norm_backward(request, engine);
    case OpKind::kRelu:
      return make_relu(request, engine);
    case OpKind::kReluBackward:
      return make_relu_backward(request, engine);
    case OpKind::kAdd:
      return make_add(request, engine);
    case OpKind::kMaxPool:
      return make_max_pool(request, engine);
    case OpKind::kMaxPoolBackward:
      return make_max_pool_backward(request, engine);
    case OpKind::kAvgPool:
      return make_average_pool(request, engine);
    case OpKind::kAvgPoolBackward:
      return make_average_pool_backward(request, engine);
    case OpKind::kDense:
      return make_dense(request, engine);
    case OpKind::kDenseBackwardData:
      return make_dense_backward_data(request, engine);
    case OpKind::kDenseBackwardWeights:
      return make_dense_backward_weights(request, engine);
    case OpKind::kSoftmaxCrossEntropy:
      return make_softmax_cross_entropy(request);
    case OpKind::kSoftmaxCrossEntropyBackward:
      return make_softmax_cross_entropy_backward(request);
    case OpKind::kSgdUpdate:
      return make_sgd_update(request);
    case OpKind::kSliceBatch:
      return make_slice_batch(request);
    case OpKind::kPlaceBatch:
      return make_place_batch(request);
    case OpKind::kReorder:
      break;
  }
  SLUICE_CHECK(false, "reorders are made by make_reorder");
}

}  // namespace sluice
