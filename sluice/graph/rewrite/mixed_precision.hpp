// Turns a logical graph from fp32 into bf16 with fp32 master weights: activations and their gradients take half the
// bytes, and products run on bf16 units. What must not round stays fp32: parameters, optimizer state, gradients of
// parameters, statistics of norms, cell states of LSTMs, logits, probabilities and losses.
//
// A tensor's dtype is decided by the op that makes it, by this table; operands that are not named are as everywhere
// (ids and labels i32, max-pooling indices u8). Kernels get exactly these combinations, or all fp32:
//
//   kind                                bf16                                   fp32
//   kConv2d, kConvTranspose2d           x, w, y                                bias
//     ...BackwardData                   dy, w, dx
//     ...BackwardWeights                x, dy                                  dw, dbias
//   kBatchNorm, kBatchNormApply         x, residual, y                         scale_shift, running, stats
//   kBatchNormBackward                  x, dy, dx                              scale_shift, stats, dscale_shift
//     ...BackwardSums, ...BackwardApply
//   kBatchNormStatistics                x                                      stats
//   kBatchNormMerge                                                            everything
//   kLayerNorm                          x, y                                   scale_shift, stats
//   kLayerNormBackward                  x, dy, dx                              scale_shift, stats, dscale_shift
//   kDense                              x, w, y                                bias; y when it holds logits
//   kDenseBackwardData                  dy, w, dx
//   kDenseBackwardWeights               x, dy                                  dw, dbias (as inputs too: accumulate)
//   kMatMul                             a, b, y                                y: logits, or a parameter's gradient
//   kReduce                             x, y                                   y: a parameter's gradient
//   kEmbedding                          y (also as input: partial)             w: rows are rounded as they are read
//   kEmbeddingBackward                  dy                                     dw
//   kLstmCell                           gates_x, h, w, gates                   c
//   kLstmCellBackward                   dh, gates, w, dgates                   c, c_prev, dc
//   kSoftmaxCrossEntropy                                                       logits, loss, probabilities
//   kSoftmaxCrossEntropyBackward        dlogits                                probabilities
//   kSigmoidCrossEntropy                                                       logits, loss
//   kSigmoidCrossEntropyBackward        dlogits                                logits
//   kSgdUpdate, kAdamUpdate                                                    everything
//   kCast                               x or y                                 the other
//   kSliceBatch, kPlaceBatch            all operands of one dtype: the tensor's (any)
//   the others                          all operands                           all operands, where an output is a
//                                                                              parameter's gradient or a loss, or
//                                                                              every input is made as fp32
//
// Sums are in fp32 inside every kernel; rounding is to nearest even. Where an op wants another dtype than a tensor has,
// a kCast comes before it: one for all uses of an activation or of step data; of a weight, one for its forward and one
// for its backward uses, so that the copies are short-lived; where these take turns (slice_loss.hpp), one each time.
#pragma once

#include "sluice/graph/graph.hpp"

namespace sluice {

// Runs last, on a graph whose ops are sliced already (logical, all fp32): training or forward. Names stay; casts are
// "<tensor>.bf16" and "<tensor>.f32".
Graph to_mixed_precision(const Graph& logical);

}  // namespace sluice
