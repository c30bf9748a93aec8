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
      return make_input(request, engine);
    case OpKind::kConv2d:
      return make_convolution(request, engine);
    case OpKind::kConv2dBackwardData:
      return make_convolution_backward_data(request, engine);
    case OpKind::kConv2dBackwardWeights:
      return make_convolution_backward_weights(request, engine);
    case OpKind::kConvTranspose2d:
      return make_convolution_transpose(request, engine);
    case OpKind::kConvTranspose2dBackwardData:
      return make_convolution_transpose_backward_data(request, engine);
    case OpKind::kConvTranspose2dBackwardWeights:
      return make_convolution_transpose_backward_weights(request, engine);
    case OpKind::kBatchNorm:
      return make_batch_norm(request, engine);
    case OpKind::kBatchNormApply:
      return make_batch_norm_apply(request, engine);
    case OpKind::kBatchNormBackward:
      return make_batch_norm_backward(request, engine);
    case OpKind::kBatchNormStatistics:
      return make_batch_norm_statistics(request, engine);
    case OpKind::kBatchNormMerge:
      return make_batch_norm_merge(request, engine);
    case OpKind::kBatchNormBackwardSums:
      return make_batch_norm_backward_sums(request, engine);
    case OpKind::kBatchNormBackwardApply:
      return make_batch_norm_backward_apply(request, engine);
    case OpKind::kLayerNorm:
      return make_layer_norm(request, engine);
    case OpKind::kLayerNormBackward:
      return make_layer_norm_backward(request, engine);
    case OpKind::kLocalResponseNorm:
      return make_local_response_norm(request, engine);
    case OpKind::kLocalResponseNormBackward:
      return make_local_response_norm_backward(request, engine);
    case OpKind::kRelu:
      return make_relu(request, engine);
    case OpKind::kReluBackward:
      return make_relu_backward(request, engine);
    case OpKind::kUnary:
      return make_unary(request, engine);
    case OpKind::kUnaryBackward:
      return make_unary_backward(request, engine);
    case OpKind::kAdd:
      return make_add(request, engine);
    case OpKind::kBinary:
      return make_binary(request, engine);
    case OpKind::kReduce:
      return make_reduce(request, engine);
    case OpKind::kBroadcast:
      return make_broadcast(request, engine);
    case OpKind::kTranspose:
      return make_transpose(request, engine);
    case OpKind::kConcat:
      return make_concat(request, engine);
    case OpKind::kSlice:
      return make_slice(request, engine);
    case OpKind::kPad:
      return make_pad(request, engine);
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
    case OpKind::kMatMul:
      return make_matmul(request, engine);
    case OpKind::kEmbedding:
      return make_embedding(request, engine);
    case OpKind::kEmbeddingBackward:
      return make_embedding_backward(request, engine);
    case OpKind::kLstmCell:
      return make_lstm_cell(request, engine);
    case OpKind::kLstmCellBackward:
      return make_lstm_cell_backward(request, engine);
    case OpKind::kSoftmax:
      return make_softmax(request, engine);
    case OpKind::kSoftmaxBackward:
      return make_softmax_backward(request, engine);
    case OpKind::kDropout:
      return make_dropout(request, engine);
    case OpKind::kSoftmaxCrossEntropy:
      return make_softmax_cross_entropy(request, engine);
    case OpKind::kSoftmaxCrossEntropyBackward:
      return make_softmax_cross_entropy_backward(request, engine);
    case OpKind::kSigmoidCrossEntropy:
      return make_sigmoid_cross_entropy(request, engine);
    case OpKind::kSigmoidCrossEntropyBackward:
      return make_sigmoid_cross_entropy_backward(request, engine);
    case OpKind::kCast:
      return make_cast(request, engine);
    case OpKind::kSliceBatch:
      return make_slice_batch(request, engine);
    case OpKind::kPlaceBatch:
      return make_place_batch(request, engine);
    case OpKind::kSgdUpdate:
      return make_sgd_update(request, engine);
    case OpKind::kAdamUpdate:
      return make_adam_update(request, engine);
    case OpKind::kReorder:
    case OpKind::kReshape:
      break;
  }
  SLUICE_CHECK(false, "reorders are made by make_reorder, reshapes by lowering");
}

}  // namespace sluice
