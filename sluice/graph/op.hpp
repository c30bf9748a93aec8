// Ops: one scheduled operation each, at an OpIndex. The table of kinds (op_table.hpp) fixes the operands of each; shape
// rules, autodiff and the backends all follow it.
//
// Shapes. Image tensors are [N, C, H, W]; convolution weights [O, I / groups, KH, KW], transposed ones
// [I, O / groups, KH, KW]. scale_shift, running and the stats of a batch norm are [2, C] (scale/mean first,
// shift/variance second); a layer norm works along the last dimension C of x, its stats are [2, rows] (mean, then
// 1 / standard deviation). Dense weights are [out, in]; a dense op reads x as rows: a row is the shortest run of last
// dimensions that has `in` elements, and y is x's shape with that run replaced by `out` ([N, C, H, W] -> [N, out];
// [B, S, in] -> [B, S, out]). kMatMul: after `perm_a` and `perm_b` its operands are [..., M, K] and [..., K, N] with
// the same leading dimensions; the product [..., M, N], transposed by `perm_y`, is y; scaled by `alpha`. An empty
// permutation is the identity. Embedding: ids of any shape, w [vocabulary, C], y is ids' shape + [C]. LSTM gates are
// [B, 4H] in the order input, forget, cell, output: before the activation in gates_x (input projection and biases) and
// dgates, after it in gates; w is [4H, H]. Logits are [..., classes], labels the same without the last dimension; a
// label of -1 is left out of the mean. The loss of kSigmoidCrossEntropy is against the constant target `alpha`.
//
// Batch norms in parts (split_batch_norm.hpp): kBatchNorm is kBatchNormStatistics of equally many samples each, their
// kBatchNormMerge, and kBatchNormApply; kBatchNormBackward is ...BackwardSums, added up over the samples, and
// ...BackwardApply. Merge and ...BackwardApply do not see all of x, so their `size` is the number of elements of one
// channel in the whole batch, N H W. Attributes are otherwise as in the op they come from.
//
// Clipping (clip_gradients.hpp): the factor is `alpha` / (norm + `epsilon`), at most 1, where the norm is the root of all
// sums; updates multiply dw by it. Delays (delay_updates.hpp): a `delayed` update does nothing to w and its moments until
// `filled` is not 0, and counts one step less. Several batches a step (accumulate_gradients.hpp): the sum is `alpha` dw plus
// the sum so far, in fp32, and kInput gives batch `out_begin` of `out_end`; 0 of 0 is 0 of 1.
//
// Loss scaling (scale_loss.hpp): losses' gradients are multiplied by `scale` ([1]). A `scaled` factor is divided by it, and
// below 0 where the gradients are not finite: updates then change nothing. Its second element counts the updates left out
// so far, by which Adam's steps are fewer. counts ([2]): updates since the scale has changed, updates left out. kLossScale
// multiplies the scale by `beta` behind an update left out, and by `alpha` behind `size` others. A clip factor with an
// `alpha` of 0 clips nothing.
//
// Ranks (partition_updates.hpp): `size` is their number. A part of x is [ceil(elements / size)], row-major. The ranks' sum is
// added up in fp32, in their order, times `alpha`, and has x's type. kAllGather makes x in `shape`. kClipFactor adds up the
// sums of all ranks where its `size` is above 1.
//
// Fused activations: `activation` (kRelu, kRelu6) of kConv2d, kConvTranspose2d, kBatchNorm(+Apply), kAdd, kConcat and
// kMaxPool (kRelu only) is applied last. The gradient of a batch norm's activation is computed inside
// kBatchNormBackward, which makes the pre-activation again from x. For a batch norm with a residual, and for the other
// kinds, autodiff puts a kReluBackward or kUnaryBackward before the backward op.
//
// Slices. A sliced dense op or embedding (out_begin, out_end) works with those output features or vocabulary rows only;
// its weights are that part. In kDense and kEmbedding `partial` means: other parts of y were written before and stay;
// in kDenseBackwardData: the slice's contribution is added to dx. dbias of a slice has the slice's length. In
// kSliceBatch and kPlaceBatch the same two attributes count samples of x (slice_batch.hpp); in kSlice they bound x
// along `axis`, in kPad they say where x lies in y. `accumulate`: the contribution is added to the gradient, in place.
// In kSoftmaxCrossEntropy and its gradient, out_begin and out_end say which of the labels, counted row-major, the
// logits belong to. The labels operand still holds all labels, and the mean is over all of them (slice_loss.hpp). There
// `accumulate` applies to the loss alone.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/processor_id.hpp"
#include "sluice/graph/op_table.hpp"
#include "sluice/graph/sparse_matrix.hpp"
#include "sluice/graph/tensor.hpp"

namespace sluice::graph {

using OpIndex = std::int32_t;
using LayerIndex = std::int32_t;

#define SLUICE_OP_KIND(kind, ...) kind,
#define SLUICE_OP_COUNT(...) +1
enum class OpKind { SLUICE_OPS(SLUICE_OP_KIND) };
inline constexpr std::size_t kOpKinds = SLUICE_OPS(SLUICE_OP_COUNT);
inline constexpr auto kLastOpKind = static_cast<OpKind>(kOpKinds - 1);
#undef SLUICE_OP_KIND
#undef SLUICE_OP_COUNT

enum class Phase { kForward, kBackward, kUpdate };

enum class Activation { kNone, kRelu, kRelu6 };

// alpha and beta are the attributes of the same name.
enum class UnaryFunction {
  kLinear,       // alpha x + beta
  kLeakyRelu,    // x above 0, alpha x below
  kClip,         // min(max(x, alpha), beta); ReLU6 is alpha 0, beta 6
  kElu,          // x above 0, alpha (exp x - 1) below
  kSigmoid,      // 1 / (1 + exp -x)
  kTanh,         //
  kSilu,         // x sigmoid(x)
  kHardSigmoid,  // min(max(alpha x + beta, 0), 1)
  kHardSwish,    // x min(max(x / 6 + 1/2, 0), 1)
  kGelu,         // x / 2 (1 + erf(x / sqrt 2))
  kGeluTanh,     // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  kErf,          //
  kExp,          //
  kLog,          //
  kSqrt,         //
  kAbs,          //
  kPower,        // x^alpha
  kSoftplus,     // log(1 + exp x)
  kMish,         // x tanh(log(1 + exp x))
  kSoftsign,     // x / (1 + |x|)
  kShrink,       // x - beta above alpha, x + beta below -alpha, 0 between
  kThreshold,    // x above alpha, 0 below
  kSin,          //
  kCos,          //
  kTan,          //
  kAsin,         //
  kAcos,         //
  kAtan,         //
  kSinh,         //
  kCosh,         //
  kAsinh,        //
  kAtanh,        //
  kSign,         // the rest are flat: they have no gradient
  kFloor,        //
  kCeil,         //
  kRound,        // to the nearest, ties to even
  kIsNan,        // 1 or 0
  kIsInfinite,   // 1 or 0; alpha, beta: whether below, above zero counts
};
inline constexpr UnaryFunction kLastUnaryFunction = UnaryFunction::kIsInfinite;

// Flat almost everywhere: nothing passes a gradient on.
constexpr bool is_flat(UnaryFunction function) { return function >= UnaryFunction::kSign; }

enum class BinaryFunction {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kMaximum,      // of equal ones the first has the gradient
  kMinimum,      // the same
  kPower,        // a^b; d/da is 0 where b is 0, d/db where a is not above 0
  kModulo,       // a - b floor(a / b): has b's sign
  kRemainder,    // a - b trunc(a / b): has a's sign
  kEqual,        // from here on 1 or 0, without a gradient
  kLess,         //
  kLessOrEqual,  //
};
constexpr bool is_comparison(BinaryFunction function) { return function >= BinaryFunction::kEqual; }

enum class ReduceFunction {
  kSum,
  kMean,
  kMaximum,  // equal ones share the gradient
};

// The ops that a step's gradients start from.
bool is_loss(OpKind kind);

// Whether kUnaryBackward's first operand is the forward op's output (else its input).
constexpr bool backward_reads_output(UnaryFunction function) {
  switch (function) {
    case UnaryFunction::kLeakyRelu:
    case UnaryFunction::kClip:
    case UnaryFunction::kElu:
    case UnaryFunction::kSigmoid:
    case UnaryFunction::kTanh:
    case UnaryFunction::kHardSigmoid:
    case UnaryFunction::kExp:
    case UnaryFunction::kSqrt:
      return true;
    default:
      return false;
  }
}

// Where a convolution's or pooling's kernel looks.
struct Window {
  std::int64_t kernel_h = 0, kernel_w = 0;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t dilation_h = 1, dilation_w = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  bool operator==(const Window&) const = default;
};

constexpr Window square_window(std::int64_t kernel, std::int64_t stride = 1, std::int64_t padding = 0) {
  return {.kernel_h = kernel,
          .kernel_w = kernel,
          .stride_h = stride,
          .stride_w = stride,
          .pad_top = padding,
          .pad_left = padding,
          .pad_bottom = padding,
          .pad_right = padding};
}

// Only the fields that the kind uses are meaningful; the rest keep their defaults, so equality is field-wise.
struct Attributes {
  Window window;                              // convolution, pooling
  std::int64_t groups = 1;                    // convolution
  bool count_padding = false;                 // kAvgPool: padded pixels count in the mean
  Activation activation = Activation::kNone;  // fused, see above
  UnaryFunction unary = UnaryFunction::kLinear;
  BinaryFunction binary = BinaryFunction::kAdd;
  ReduceFunction reduce = ReduceFunction::kSum;
  std::int64_t axis = 0;           // kConcat, kSlice, kPad, kSparseProduct
  std::vector<std::int64_t> axes;  // kReduce: ascending; kTranspose: output dimension i is input axes[i]
  std::vector<std::int64_t> perm_a, perm_b, perm_y;  // kMatMul
  Shape shape;                                       // kReshape, kBroadcast, kPad: of the output
  std::int64_t out_begin = 0, out_end = 0;           // slice, see above
  bool partial = false;                              // see above
  bool accumulate = false;                           // see above
  bool causal = false;                               // kSoftmax: row i of the last two dimensions sees columns 0..i
  bool state = false, carry = false;                 // kLstmCell(+Backward): has an earlier, a later step
  float alpha = 0, beta = 0;                         // kUnary; kMatMul, kSoftmax: factor; norms of responses
  std::int64_t size = 0;                             // kLocalResponseNorm: channels; alpha / size, beta, epsilon = bias
  float rate = 0;            // kDropout: share of elements set to zero; updates: of the learning rate, 0 all of it
  std::uint64_t stream = 0;  // kDropout: its random numbers
  float epsilon = 0;         // norms, Adam, clipping
  double momentum = 0, weight_decay = 0;  // norms (momentum = running), SGD; Adam: momentum = beta 1
  double beta2 = 0;                       // Adam
  bool decoupled = false;                 // Adam: decay the weights, not the gradient (AdamW)
  bool nesterov = false;                  // SGD
  bool delayed = false;                   // updates, see above
  bool scaled = false;                    // kClipFactor, updates, see above
  SharedMatrix matrix = {};               // kSparseProduct: as many columns as x has along the axis
  bool operator==(const Attributes&) const = default;
};

// output `output` may overwrite input `input` when nothing needs that input afterwards.
struct InPlace {
  int input = 0;
  int output = 0;
};

struct Implementation {
  std::string name;
  Bytes workspace_bytes = 0;  // enough on every processor that the graph was lowered for
};

// How an op runs, where there is a choice.
struct OpChoice {
  std::int32_t implementation = 0;  // an index into Op::implementations
  ProcessorId processor = kMainProcessor;
  auto operator<=>(const OpChoice&) const = default;
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
  // The first one runs unless a plan chooses another. Where there are several, the last output is a workspace, as large
  // as the first one needs and not empty (choose.hpp gives it the size that the chosen one needs).
  std::vector<Implementation> implementations;
  ProcessorId processor = kMainProcessor;
  std::vector<ProcessorId> no_kernel_on = {};  // executable graphs: processors whose backend cannot run the op
  std::string views;  // executable graphs: the shapes the op sees, where a kReshape made them differ from the storage's
};

std::string_view to_string(OpKind kind);  // "conv2d_backward_data"
std::string_view to_string(Phase phase);
std::string_view to_string(Role role);
std::string_view to_string(DType dtype);
std::string_view to_string(UnaryFunction function);  // "leaky_relu"

}  // namespace sluice::graph
