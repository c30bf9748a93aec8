// Ops: one scheduled operation each, at an OpIndex. The table below fixes the operands of every kind; shape rules
// (shape_rules.hpp), autodiff and the backends all follow it.
//
//   kind                          inputs                                     outputs
//   kInput                        -                                          images, labels
//   kConv2d                       x, w, [bias]                               y
//   kConv2dBackwardData           dy, w                                      dx
//   kConv2dBackwardWeights        x, dy                                      dw, [dbias]
//   kBatchNorm                    x, scale_shift, running                    y, stats, running, [mask]
//   kBatchNormBackward            x, dy, scale_shift, stats, [mask]          dx, dscale_shift
//   kRelu                         x                                          y
//   kReluBackward                 y, dy                                      dx
//   kAdd                          a, b                                       y
//   kMaxPool                      x                                          y, index
//   kMaxPoolBackward              dy, index                                  dx
//   kAvgPool                      x                                          y
//   kAvgPoolBackward              dy                                         dx
//   kDense                        x, w, [bias], [y when attributes.partial]  y
//   kDenseBackwardData            dy, w, [dx when attributes.partial]        dx
//   kDenseBackwardWeights         x, dy                                      dw, [dbias]
//   kSoftmaxCrossEntropy          logits, labels                             loss, probabilities
//   kSoftmaxCrossEntropyBackward  probabilities, labels                      dlogits
//   kReorder                      x                                          y (same shape, another layout)
//   kSliceBatch                   x                                          y (some samples of x)
//   kPlaceBatch                   y, [x when attributes.partial]             x (some samples of x, the others stay)
//   kSgdUpdate                    w, dw, momentum                            w, momentum
//
// Scratch workspaces (role kWorkspace) are appended to the outputs by the backend when it lowers the graph.
// Image tensors are [N, C, H, W]; convolution weights [O, I, KH, KW]; dense weights [out, in]; a dense op reads an
// image tensor as [N, C*H*W]. scale_shift, running and stats are [2, C] (scale/mean first, shift/variance second).
// [mask] is present when attributes.relu is set: which elements the fused ReLU let through.
// A sliced dense op (attributes.out_begin/out_end) computes only those output features. In kDense, `partial` means
// other features of y were written before and stay; in kDenseBackwardData it means the slice's contribution is added
// to dx. dbias of a slice has the slice's length. In kSliceBatch and kPlaceBatch the same two attributes count samples
// of x (slice_batch.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/graph/tensor.hpp"

namespace sluice {

using OpIndex = std::int32_t;
using LayerIndex = std::int32_t;

enum class OpKind {
  kInput,
  kConv2d,
  kConv2dBackwardData,
  kConv2dBackwardWeights,
  kBatchNorm,
  kBatchNormBackward,
  kRelu,
  kReluBackward,
  kAdd,
  kMaxPool,
  kMaxPoolBackward,
  kAvgPool,
  kAvgPoolBackward,
  kDense,
  kDenseBackwardData,
  kDenseBackwardWeights,
  kSoftmaxCrossEntropy,
  kSoftmaxCrossEntropyBackward,
  kReorder,
  kSliceBatch,
  kPlaceBatch,
  kSgdUpdate,
};

enum class Phase { kForward, kBackward, kUpdate };

// Only the fields that the kind uses are meaningful; the rest keep their defaults, so equality is field-wise.
struct Attributes {
  std::int64_t kernel_h = 0, kernel_w = 0, stride = 1, padding = 0;  // convolution, pooling (padding on all sides)
  bool relu = false;                                                 // kBatchNorm(+Backward), kAdd: fused ReLU
  std::int64_t out_begin = 0, out_end = 0;                           // slice: output features of a dense op, or samples
  bool partial = false;                                              // see above
  float epsilon = 0, momentum = 0, weight_decay = 0;                 // batch norm (momentum = running), SGD
  bool operator==(const Attributes&) const = default;
};

// output `output` may overwrite input `input` when nothing needs that input afterwards.
struct InPlace {
  int input = 0;
  int output = 0;
};

struct Implementation {
  std::string name;
  Bytes workspace_bytes = 0;
};

struct Op {
  std::string name;
  OpKind kind = OpKind::kInput;
  Attributes attributes;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  std::vector<InPlace> in_place;
  LayerIndex layer = 0;
  Phase phase = Phase::kForward;
  std::vector<Implementation> implementations;
};

std::string_view to_string(OpKind kind);  // "conv2d_backward_data"
std::string_view to_string(Phase phase);
std::string_view to_string(Role role);
std::string_view to_string(DType dtype);

}  // namespace sluice
