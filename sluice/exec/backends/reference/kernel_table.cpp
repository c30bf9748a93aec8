#include <map>

#include "sluice/exec/backends/reference/reference_kernels.hpp"

namespace sluice {
namespace {

using ReferenceKernel = void (*)(const ReferenceCall&);

// Ops that depend on their operands alone.
const std::map<OpKind, ReferenceKernel>& kernels() {
  static const std::map<OpKind, ReferenceKernel> table = {
      {OpKind::kConv2d, reference_convolution},
      {OpKind::kConv2dBackwardData, reference_convolution_backward_data},
      {OpKind::kConv2dBackwardWeights, reference_convolution_backward_weights},
      {OpKind::kConvTranspose2d, reference_convolution_transpose},
      {OpKind::kConvTranspose2dBackwardData, reference_convolution_transpose_backward_data},
      {OpKind::kConvTranspose2dBackwardWeights, reference_convolution_transpose_backward_weights},
      {OpKind::kBatchNorm, reference_batch_norm},
      {OpKind::kBatchNormApply, reference_batch_norm_apply},
      {OpKind::kBatchNormBackward, reference_batch_norm_backward},
      {OpKind::kBatchNormStatistics, reference_batch_norm_statistics},
      {OpKind::kBatchNormMerge, reference_batch_norm_merge},
      {OpKind::kBatchNormBackwardSums, reference_batch_norm_backward_sums},
      {OpKind::kBatchNormBackwardApply, reference_batch_norm_backward_apply},
      {OpKind::kLayerNorm, reference_layer_norm},
      {OpKind::kLayerNormBackward, reference_layer_norm_backward},
      {OpKind::kLocalResponseNorm, reference_local_response_norm},
      {OpKind::kLocalResponseNormBackward, reference_local_response_norm_backward},
      {OpKind::kRelu, reference_relu},
      {OpKind::kReluBackward, reference_relu_backward},
      {OpKind::kUnary, reference_unary},
      {OpKind::kUnaryBackward, reference_unary_backward},
      {OpKind::kAdd, reference_add},
      {OpKind::kBinary, reference_binary},
      {OpKind::kReduce, reference_reduce},
      {OpKind::kBroadcast, reference_broadcast},
      {OpKind::kTranspose, reference_transpose},
      {OpKind::kConcat, reference_concat},
      {OpKind::kSlice, reference_slice},
      {OpKind::kPad, reference_pad},
      {OpKind::kMaxPool, reference_max_pool},
      {OpKind::kMaxPoolBackward, reference_max_pool_backward},
      {OpKind::kAvgPool, reference_average_pool},
      {OpKind::kAvgPoolBackward, reference_average_pool_backward},
      {OpKind::kDense, reference_dense},
      {OpKind::kDenseBackwardData, reference_dense_backward_data},
      {OpKind::kDenseBackwardWeights, reference_dense_backward_weights},
      {OpKind::kMatMul, reference_matmul},
      {OpKind::kEmbedding, reference_embedding},
      {OpKind::kEmbeddingBackward, reference_embedding_backward},
      {OpKind::kLstmCell, reference_lstm_cell},
      {OpKind::kLstmCellBackward, reference_lstm_cell_backward},
      {OpKind::kSoftmax, reference_softmax},
      {OpKind::kSoftmaxBackward, reference_softmax_backward},
      {OpKind::kSoftmaxCrossEntropy, reference_softmax_cross_entropy},
      {OpKind::kSoftmaxCrossEntropyBackward, reference_softmax_cross_entropy_backward},
      {OpKind::kSigmoidCrossEntropy, reference_sigmoid_cross_entropy},
      {OpKind::kSigmoidCrossEntropyBackward, reference_sigmoid_cross_entropy_backward},
      {OpKind::kSliceBatch, reference_slice_batch},
      {OpKind::kPlaceBatch, reference_place_batch},
      {OpKind::kReshape, reference_copy},
      {OpKind::kReorder, reference_copy},
      {OpKind::kCast, reference_copy},
  };
  return table;
}

}  // namespace

void run_reference_kernel(const ReferenceCall& call, const StepContext& context) {
  switch (call.op().kind) {
    case OpKind::kDropout:
      return reference_dropout(call, context);
    case OpKind::kSgdUpdate:
      return reference_sgd_update(call, context);
    case OpKind::kAdamUpdate:
      return reference_adam_update(call, context);
    default:
      return kernels().at(call.op().kind)(call);
  }
}

}  // namespace sluice
