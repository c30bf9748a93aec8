// The table of op kinds: one row says what a kind is. Everything else that lists kinds is made from it: the enumeration
// (op.hpp), traits (op_traits.hpp), shape rules and claims (shapes/), gradients (autodiff/gradients.hpp), the reference
// kernels. Rows keep their place, which is in fingerprints: a new kind comes last.
//
//   kind       the enumerator
//   name       as printed and as part of an op's signature
//   inputs     operands in their order. Those in [brackets] may be absent; where an attribute decides, it is named
//   outputs    the same
//   attributes what an op is told besides: the family's struct of attributes.hpp
//   in place   which output may overwrite which input (op_traits.cpp)
//   samples, features, precision, repeat, again    see op_traits.hpp
//   made       what a builder makes of the outputs (op_traits.hpp)
//   shapes     the rule that gives the outputs' shapes (shapes/shape_rule.hpp)
//   claim      what a backward op says about the forward op's shapes (shapes/forward_claim.hpp)
//   gradient   the function that appends the backward ops (autodiff/gradients.hpp)
//   gpu        whether NVIDIA GPUs have a kernel for it
//
// A user of the table defines a macro of a row, OP(...), and gives it to SLUICE_OPS; SLUICE_OP_SHAPES(...) and the others
// below pick a column of a row.
//
// A batch norm's statistics are complete before its first result, so it may overwrite x. Dropout is never cut by
// samples: its random numbers go by the element's place in the whole tensor. Scratch workspaces (role kWorkspace) are
// appended to the outputs by the backend when it lowers the graph.
#pragma once

// clang-format off
#define SLUICE_OPS(OP) \
  OP(kInput, "input", "", "the step's data (Tensor::content), or a part", InputAttributes, \
     kNone,   "",         "",      "f>f",        kGiven,  kDear,    kOne, no_shapes, own_claim, no_gradient, kGpu) \
  OP(kConv2d, "conv2d", "x, w, [bias]", "y", ConvolutionAttributes, \
     kNone,   "nww>n",    "",      "hhf>h",      kPure,   kDear,    kOne, convolution_shapes, own_claim, differentiate_convolution, kGpu) \
  OP(kConv2dBackwardData, "conv2d_backward_data", "dy, w", "dx", ConvolutionAttributes, \
     kNone,   "nw>n",     "",      "h>h",        kPure,   kDear,    kOne, no_shapes, conv2d_data_claim, no_gradient, kGpu) \
  OP(kConv2dBackwardWeights, "conv2d_backward_weights", "x, dy", "dw, [dbias]", ConvolutionAttributes, \
     kNone,   "nn>w",     "",      "hhf>f",      kPure,   kDear,    kOne, no_shapes, conv2d_weights_claim, no_gradient, kGpu) \
  OP(kConvTranspose2d, "conv_transpose2d", "x, w, [bias]", "y", ConvolutionAttributes, \
     kNone,   "nww>n",    "",      "hhf>h",      kPure,   kDear,    kOne, convolution_shapes, own_claim, differentiate_convolution, kGpu) \
  OP(kConvTranspose2dBackwardData, "conv_transpose2d_backward_data", "dy, w", "dx", ConvolutionAttributes, \
     kNone,   "nw>n",     "",      "h>h",        kPure,   kDear,    kOne, no_shapes, conv_transpose2d_data_claim, no_gradient, kGpu) \
  OP(kConvTranspose2dBackwardWeights, "conv_transpose2d_backward_weights", "x, dy", "dw, [dbias]", ConvolutionAttributes, \
     kNone,   "nn>w",     "",      "hhf>f",      kPure,   kDear,    kOne, no_shapes, conv_transpose2d_weights_claim, no_gradient, kGpu) \
  OP(kBatchNorm, "batch_norm", "x, scale_shift, running, [residual]", "y, stats, running", NormAttributes, \
     kX,      "nwwn>nsw", "",      "hffh>hf",    kState,  kCheap,   kWithStats, batch_norm_shapes, own_claim, differentiate_batch_norm, kGpu) \
  OP(kBatchNormApply, "batch_norm_apply", "x, scale_shift, stats, [residual]", "y", NormAttributes, \
     kX,      "nwsn>n",   "",      "hffh>h",     kPure,   kDear,    kOne, batch_norm_shapes, own_claim, no_gradient, kGpu) \
  OP(kBatchNormBackward, "batch_norm_backward", "x, dy, scale_shift, stats", "dx, dscale_shift", NormAttributes, \
     kDy,     "nnws>nw",  "",      "hhf>hf",     kPure,   kDear,    kOne, no_shapes, batch_norm_claim, no_gradient, kGpu) \
  OP(kBatchNormStatistics, "batch_norm_statistics", "x", "stats (of x's samples only)", NormAttributes, \
     kNone,   "n>s",      "",      "h>f",        kPure,   kDear,    kOne, batch_norm_part_shapes, own_claim, no_gradient, kGpu) \
  OP(kBatchNormMerge, "batch_norm_merge", "stats, stats, ..., running", "stats (of all samples), running", NormAttributes, \
     kNone,   "",         "",      "f>f",        kState,  kDear,    kOne, batch_norm_part_shapes, own_claim, no_gradient, kGpu) \
  OP(kBatchNormBackwardSums, "batch_norm_backward_sums", "x, dy, scale_shift, stats", "dscale_shift", NormAttributes, \
     kNone,   "nnws>w",   "",      "hhf>f",      kPure,   kDear,    kOne, batch_norm_part_shapes, own_claim, no_gradient, kGpu) \
  OP(kBatchNormBackwardApply, "batch_norm_backward_apply", "x, dy, scale_shift, stats, dscale_shift", "dx", NormAttributes, \
     kDy,     "nnwsw>n",  "",      "hhf>h",      kPure,   kDear,    kOne, batch_norm_part_shapes, own_claim, no_gradient, kGpu) \
  OP(kLayerNorm, "layer_norm", "x, scale_shift", "y, stats", NormAttributes, \
     kNone,   "",         "",      "hf>hf",      kPure,   kCheap,   kWithStats, layer_norm_shapes, own_claim, differentiate_layer_norm, kGpu) \
  OP(kLayerNormBackward, "layer_norm_backward", "x, dy, scale_shift, stats", "dx, dscale_shift", NormAttributes, \
     kDy,     "",         "",      "hhf>hf",     kPure,   kDear,    kOne, no_shapes, layer_norm_claim, no_gradient, kGpu) \
  OP(kLocalResponseNorm, "local_response_norm", "x", "y", ResponseNormAttributes, \
     kNone,   "n>n",      "",      "u>u",        kPure,   kDear,    kOne, local_response_norm_shapes, own_claim, differentiate_local_response_norm, kGpu) \
  OP(kLocalResponseNormBackward, "local_response_norm_backward", "x, dy", "dx", ResponseNormAttributes, \
     kNone,   "n>n",      "",      "u>u",        kPure,   kDear,    kOne, same_shape_of_two, own_claim, no_gradient, kGpu) \
  OP(kRelu, "relu", "x", "y", NoAttributes, \
     kX,      "n>n",      "",      "u>u",        kPure,   kInChain, kOne, same_shape, own_claim, differentiate_relu, kGpu) \
  OP(kReluBackward, "relu_backward", "y, dy", "dx", NoAttributes, \
     kDy,     "n>n",      "",      "u>u",        kPure,   kDear,    kOne, same_shape_of_two, own_claim, no_gradient, kGpu) \
  OP(kUnary, "unary", "x", "y", UnaryAttributes, \
     kX,      "n>n",      "",      "u>u",        kPure,   kCheap,   kOne, same_shape, own_claim, differentiate_unary, kGpu) \
  OP(kUnaryBackward, "unary_backward", "x (y: backward_reads_output), dy", "dx", UnaryAttributes, \
     kDy,     "n>n",      "",      "u>u",        kPure,   kDear,    kOne, same_shape_of_two, own_claim, no_gradient, kGpu) \
  OP(kAdd, "add", "a, b", "y (same shapes)", AddAttributes, \
     kEither, "n>n",      "c>c",   "u>u",        kPure,   kInChain, kOne, same_shape_of_two, own_claim, differentiate_add, kGpu) \
  OP(kBinary, "binary", "a, b", "y (shapes broadcast)", BinaryAttributes, \
     kX,      "",         "",      "u>u",        kPure,   kInChain, kOne, binary_shapes, own_claim, differentiate_binary, kGpu) \
  OP(kReduce, "reduce", "x", "y (`axes` become 1)", ReduceAttributes, \
     kNone,   "",         "",      "i>u",        kPure,   kDear,    kOne, reduce_shapes, own_claim, differentiate_reduce, kGpu) \
  OP(kBroadcast, "broadcast", "x", "y (extents of 1 grow)", ShapeAttributes, \
     kNone,   "",         "",      "u>u",        kPure,   kDear,    kAsInput, broadcast_shapes, own_claim, differentiate_broadcast, kGpu) \
  OP(kReshape, "reshape", "x", "y (a view: no bytes move)", ShapeAttributes, \
     kNone,   "",         "",      "u>u",        kPure,   kInChain, kAsInput, reshape_shapes, own_claim, differentiate_reshape, kGpu) \
  OP(kTranspose, "transpose", "x", "y", TransposeAttributes, \
     kNone,   "",         "",      "u>u",        kPure,   kInChain, kAsInput, transpose_shapes, own_claim, differentiate_transpose, kGpu) \
  OP(kConcat, "concat", "x, x, ...", "y", ConcatAttributes, \
     kNone,   "a>a",      "",      "u>u",        kPure,   kInChain, kAsInput, concat_shapes, own_claim, differentiate_concat, kGpu) \
  OP(kSlice, "slice", "x", "y", PartAttributes, \
     kNone,   "a>a",      "",      "u>u",        kPure,   kDear,    kAsInput, slice_shapes, own_claim, differentiate_slice, kGpu) \
  OP(kPad, "pad", "x", "y (zero outside x)", PartAttributes, \
     kNone,   "a>a",      "",      "u>u",        kPure,   kDear,    kAsInput, pad_shapes, own_claim, differentiate_pad, kGpu) \
  OP(kMaxPool, "max_pool", "x", "y, index", PoolAttributes, \
     kNone,   "n>n",      "",      "u>u",        kPure,   kDear,    kWithIndex, pool_shapes, own_claim, differentiate_max_pool, kGpu) \
  OP(kMaxPoolBackward, "max_pool_backward", "dy, index", "dx", PoolAttributes, \
     kNone,   "n>n",      "",      "u>u",        kPure,   kDear,    kOne, no_shapes, max_pool_claim, no_gradient, kGpu) \
  OP(kAvgPool, "avg_pool", "x", "y", PoolAttributes, \
     kNone,   "n>n",      "",      "u>u",        kPure,   kInChain, kOne, pool_shapes, own_claim, differentiate_avg_pool, kGpu) \
  OP(kAvgPoolBackward, "avg_pool_backward", "dy", "dx", PoolAttributes, \
     kNone,   "n>n",      "",      "u>u",        kPure,   kDear,    kOne, no_shapes, avg_pool_claim, no_gradient, kGpu) \
  OP(kDense, "dense", "x, w, [bias], [y when partial]", "y", NoAttributes, \
     kNone,   "",         "rc>w",  "hhf>p",      kPure,   kDear,    kOne, dense_shapes, own_claim, differentiate_dense, kGpu) \
  OP(kDenseBackwardData, "dense_backward_data", "dy, w, [dx when partial]", "dx", NoAttributes, \
     kNone,   "",         "rc>w",  "h>h",        kPure,   kDear,    kOne, no_shapes, dense_data_claim, no_gradient, kGpu) \
  OP(kDenseBackwardWeights, "dense_backward_weights", "x, dy, [dw, [dbias] when accumulate]", "dw, [dbias]", NoAttributes, \
     kNone,   "",         "rrc>c", "hhf>f",      kPure,   kDear,    kOne, no_shapes, dense_weights_claim, no_gradient, kGpu) \
  OP(kMatMul, "matmul", "a, b", "y", ProductAttributes, \
     kNone,   "",         "",      "h>p",        kPure,   kInChain, kOne, matmul_shapes, own_claim, differentiate_matmul, kGpu) \
  OP(kEmbedding, "embedding", "ids, w, [y when partial]", "y (ids: i32, or whole numbers in fp32)", NoAttributes, \
     kNone,   "",         "rc>w",  "f>h",        kPure,   kDear,    kOne, embedding_shapes, own_claim, differentiate_embedding, kGpu) \
  OP(kEmbeddingBackward, "embedding_backward", "ids, dy, [dw when accumulate]", "dw", NoAttributes, \
     kNone,   "",         "rrc>c", "fh>f",       kPure,   kDear,    kOne, no_shapes, embedding_claim, no_gradient, kGpu) \
  OP(kLstmCell, "lstm_cell", "gates_x, [h, c, w when state]", "h, c, gates", RecurrentAttributes, \
     kNone,   "",         "",      "hhfh>hfh",   kPure,   kDear,    kCell, lstm_cell_shapes, own_claim, differentiate_lstm_cell, kGpu) \
  OP(kLstmCellBackward, "lstm_cell_backward", "dh, gates, c, [c_prev, w when state], [dc when carry]", "dgates, [dh, dc when state]", RecurrentAttributes, \
     kNone,   "",         "",      "hhffhf>hhf", kPure,   kDear,    kOne, no_shapes, lstm_cell_claim, no_gradient, kGpu) \
  OP(kSoftmax, "softmax", "x", "y", SoftmaxAttributes, \
     kX,      "",         "",      "u>u",        kPure,   kInChain, kOne, softmax_shapes, own_claim, differentiate_softmax, kGpu) \
  OP(kSoftmaxBackward, "softmax_backward", "y, dy", "dx", SoftmaxAttributes, \
     kDy,     "",         "",      "u>u",        kPure,   kDear,    kOne, same_shape_of_two, own_claim, no_gradient, kGpu) \
  OP(kDropout, "dropout", "x", "y (its own gradient: dx from dy)", DropoutAttributes, \
     kX,      "",         "",      "u>u",        kDrawn,  kCheap,   kOne, dropout_shapes, own_claim, differentiate_dropout, kGpu) \
  OP(kSoftmaxCrossEntropy, "softmax_cross_entropy", "logits, labels, [loss when accumulate]", "loss, probabilities", NoAttributes, \
     kLogits, "",         "",      "f>f",        kPure,   kDear,    kLossAndProbabilities, softmax_cross_entropy_shapes, own_claim, differentiate_softmax_cross_entropy, kGpu) \
  OP(kSoftmaxCrossEntropyBackward, "softmax_cross_entropy_backward", "probabilities, labels, [scale]", "dlogits", NoAttributes, \
     kX,      "",         "",      "f>h",        kPure,   kDear,    kOne, no_shapes, softmax_cross_entropy_claim, no_gradient, kGpu) \
  OP(kSigmoidCrossEntropy, "sigmoid_cross_entropy", "logits", "loss", TargetAttributes, \
     kNone,   "",         "",      "f>f",        kPure,   kDear,    kLoss, number_of_one, own_claim, differentiate_sigmoid_cross_entropy, kGpu) \
  OP(kSigmoidCrossEntropyBackward, "sigmoid_cross_entropy_backward", "logits, [scale]", "dlogits", TargetAttributes, \
     kX,      "",         "",      "f>h",        kPure,   kDear,    kOne, same_shape, loss_claim, no_gradient, kGpu) \
  OP(kCast, "cast", "x", "y (same shape, another dtype; from i32 too)", NoAttributes, \
     kNone,   "",         "",      "=>f",        kPure,   kDear,    kOne, same_shape, own_claim, no_gradient, kGpu) \
  OP(kReorder, "reorder", "x", "y (same shape, another layout)", NoAttributes, \
     kNone,   "",         "",      "u>u",        kPure,   kDear,    kOne, same_shape, own_claim, differentiate_reorder, kGpu) \
  OP(kSliceBatch, "slice_batch", "x", "y (some samples of x)", NoAttributes, \
     kNone,   "",         "",      "=>=",        kPure,   kDear,    kOne, no_shapes, own_claim, no_gradient, kGpu) \
  OP(kPlaceBatch, "place_batch", "y, [x when partial]", "x (some samples of x, the others stay)", NoAttributes, \
     kNone,   "",         "",      "=>=",        kPure,   kDear,    kOne, no_shapes, own_claim, no_gradient, kGpu) \
  OP(kSgdUpdate, "sgd_update", "w, dw, momentum, [factor], [filled]", "w, momentum, [w in 16 bits]", UpdateAttributes, \
     kNone,   "",         "c>c",   "f>f",        kUpdate, kDear,    kOne, update_shapes, update_claim, no_gradient, kGpu) \
  OP(kAdamUpdate, "adam_update", "w, dw, moment1, moment2, [factor], [filled]", "w, moment1, moment2, [w in 16 bits]", UpdateAttributes, \
     kNone,   "",         "c>c",   "f>f",        kUpdate, kDear,    kOne, update_shapes, update_claim, no_gradient, kGpu) \
  OP(kSquaredSum, "squared_sum", "x", "sum of the squares of x ([1])", NoAttributes, \
     kNone,   "",         "",      "=>f",        kPure,   kDear,    kOne, number_of_one, own_claim, no_gradient, kNoGpu) \
  OP(kClipFactor, "clip_factor", "sum, ..., [scale, counts when scaled]", "factor ([1]; [2] when scaled)", ClipAttributes, \
     kNone,   "",         "",      "f>f",        kGiven,  kDear,    kOne, clip_factor_shapes, own_claim, no_gradient, kNoGpu) \
  OP(kDelayGradient, "delay_gradient", "dw", "dw of the next step, [filled ([1])]", NoAttributes, \
     kNone,   "",         "",      "=>=f",       kPure,   kDear,    kOne, same_shape, delay_claim, no_gradient, kNoGpu) \
  OP(kAccumulateGradient, "accumulate_gradient", "dw, [sum]", "sum", FactorAttributes, \
     kX,      "",         "",      "=f>f",       kPure,   kDear,    kOne, same_shape, accumulate_claim, no_gradient, kNoGpu) \
  OP(kReduceScatter, "reduce_scatter", "x", "part of the ranks' sum", RanksAttributes, \
     kNone,   "",         "",      "=>=",        kGiven,  kDear,    kOne, part_of_ranks, own_claim, no_gradient, kNoGpu) \
  OP(kOwnPart, "own_part", "x", "part", RanksAttributes, \
     kNone,   "",         "",      "=>=",        kPure,   kDear,    kOne, part_of_ranks, own_claim, no_gradient, kNoGpu) \
  OP(kAllGather, "all_gather", "part", "x", RanksAttributes, \
     kNone,   "",         "",      "=>=",        kGiven,  kDear,    kOne, all_of_ranks, own_claim, no_gradient, kNoGpu) \
  OP(kLossScale, "loss_scale", "factor, scale, counts, [scale of delayed]", "scale, counts, [scale of delayed]", LossScaleAttributes, \
     kNone,   "",         "",      "f>f",        kState,  kDear,    kOne, loss_scale_shapes, own_claim, no_gradient, kNoGpu) \
  OP(kSparseProduct, "sparse_product", "x", "y = `matrix` x along `axis`", SparseAttributes, \
     kNone,   "a>a",      "",      "u>u",        kPure,   kDear,    kOne, sparse_product_shapes, own_claim, differentiate_sparse_product, kNoGpu) \
  OP(kSelect, "select", "c, a, b", "y: a where c is not 0, else b (shapes broadcast)", NoAttributes, \
     kSides,  "",         "",      "u>u",        kPure,   kInChain, kOne, select_shapes, own_claim, differentiate_select, kGpu) \
  OP(kMeanLoss, "mean_loss", "x", "loss: the mean of x", NoAttributes, \
     kNone,   "",         "",      "f>f",        kPure,   kDear,    kLoss, number_of_one, own_claim, differentiate_mean_loss, kNoGpu) \
  OP(kMeanLossBackward, "mean_loss_backward", "x, [scale]", "dx", NoAttributes, \
     kX,      "",         "",      "f>h",        kPure,   kDear,    kOne, same_shape, loss_claim, no_gradient, kNoGpu) \
  OP(kLionUpdate, "lion_update", "w, dw, momentum, [factor], [filled]", "w, momentum, [w in 16 bits]", UpdateAttributes, \
     kNone,   "",         "c>c",   "f>f",        kUpdate, kDear,    kOne, update_shapes, update_claim, no_gradient, kNoGpu) \
  OP(kRunningSum, "running_sum", "x", "y: along `axis` sums of all up to each (where `forwards`), or from it on", RunningSumAttributes, \
     kX,      "a>a",      "",      "f>f",        kPure,   kDear,    kOne, running_sum_shapes, own_claim, differentiate_running_sum, kNoGpu)

#define SLUICE_OP_ATTRIBUTES(kind, name, inputs, outputs, attributes, in_place, samples, features, precision, repeat, again, made, shapes, claim, gradient, gpu) attributes
#define SLUICE_OP_SHAPES(kind, name, inputs, outputs, attributes, in_place, samples, features, precision, repeat, again, made, shapes, claim, gradient, gpu) shapes
#define SLUICE_OP_CLAIM(kind, name, inputs, outputs, attributes, in_place, samples, features, precision, repeat, again, made, shapes, claim, gradient, gpu) claim
#define SLUICE_OP_GRADIENT(kind, name, inputs, outputs, attributes, in_place, samples, features, precision, repeat, again, made, shapes, claim, gradient, gpu) gradient
// clang-format on
