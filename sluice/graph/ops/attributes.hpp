// What an op is told besides its operands: a struct for each family of kinds. op_table.hpp says which one a kind has. Shapes,
// and what the operands are, stand in op.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sluice/base/hash.hpp"
#include "sluice/graph/ops/functions.hpp"
#include "sluice/graph/ops/sparse_matrix.hpp"
#include "sluice/graph/ops/tensor.hpp"

namespace sluice::graph {

struct NoAttributes {
  bool operator==(const NoAttributes&) const = default;
};

// kInput: which of the step's batches it gives; batch 0 of 0 is 0 of 1 (accumulate_gradients.hpp).
struct InputAttributes {
  std::int64_t batch = 0, batches = 0;
  bool operator==(const InputAttributes&) const = default;
};

struct ConvolutionAttributes {
  Window window;
  std::int64_t groups = 1;
  Activation activation = Activation::kNone;
  bool operator==(const ConvolutionAttributes&) const = default;
};

struct PoolAttributes {
  Window window;
  bool count_padding = false;                 // of averages: padded pixels count in the mean
  Activation activation = Activation::kNone;  // of maxima; kRelu only
  bool operator==(const PoolAttributes&) const = default;
};

// Batch norms, their parts, and layer norms.
struct NormAttributes {
  Activation activation = Activation::kNone;
  std::int64_t channel_elements = 0;  // merge and ...BackwardApply: in the whole batch, of one channel, N H W
  float epsilon = 0;
  double momentum = 0;  // of running statistics
  bool operator==(const NormAttributes&) const = default;
};

// y = x / (bias + alpha / channels * the sum of squares of `channels` neighbours)^beta.
struct ResponseNormAttributes {
  std::int64_t channels = 0;
  float alpha = 0, beta = 0, bias = 0;
  bool operator==(const ResponseNormAttributes&) const = default;
};

// alpha and beta: see UnaryFunction.
struct UnaryAttributes {
  UnaryFunction function = UnaryFunction::kLinear;
  float alpha = 0, beta = 0;
  bool operator==(const UnaryAttributes&) const = default;
};

struct AddAttributes {
  Activation activation = Activation::kNone;
  bool operator==(const AddAttributes&) const = default;
};

struct BinaryAttributes {
  BinaryFunction function = BinaryFunction::kAdd;
  bool operator==(const BinaryAttributes&) const = default;
};

struct ReduceAttributes {
  ReduceFunction function = ReduceFunction::kSum;
  std::vector<std::int64_t> axes = {};  // ascending
  bool operator==(const ReduceAttributes&) const = default;
};

// kReshape, kBroadcast: of the output.
struct ShapeAttributes {
  Shape shape = {};
  bool operator==(const ShapeAttributes&) const = default;
};

// Dimension i of the output is axes[i] of the input.
struct TransposeAttributes {
  std::vector<std::int64_t> axes = {};
  bool operator==(const TransposeAttributes&) const = default;
};

struct ConcatAttributes {
  std::int64_t axis = 0;
  Activation activation = Activation::kNone;
  bool operator==(const ConcatAttributes&) const = default;
};

// kSlice: y is [begin, end) of x along the axis. kPad: x is that part of y, whose shape is `shape`.
struct PartAttributes {
  std::int64_t axis = 0, begin = 0, end = 0;
  Shape shape = {};
  bool operator==(const PartAttributes&) const = default;
};

// kMatMul: an empty permutation is the identity (op.hpp).
struct ProductAttributes {
  std::vector<std::int64_t> perm_a = {}, perm_b = {}, perm_y = {};
  float factor = 0;
  bool operator==(const ProductAttributes&) const = default;
};

// Of factor * x.
struct SoftmaxAttributes {
  float factor = 0;
  bool causal = false;  // row i of the last two dimensions sees columns 0..i
  bool operator==(const SoftmaxAttributes&) const = default;
};

// kLstmCell(+Backward): has an earlier, a later step.
struct RecurrentAttributes {
  bool state = false, carry = false;
  bool operator==(const RecurrentAttributes&) const = default;
};

struct DropoutAttributes {
  float rate = 0;            // share of elements set to zero
  std::uint64_t stream = 0;  // its random numbers
  bool operator==(const DropoutAttributes&) const = default;
};

// kSigmoidCrossEntropy(+Backward): against a constant.
struct TargetAttributes {
  float target = 0;
  bool operator==(const TargetAttributes&) const = default;
};

// Optimizers. A `delayed` update does nothing to w and its moments until `filled` is not 0, and counts one step less
// (delay_updates.hpp).
struct UpdateAttributes {
  float rate = 0;  // share of the learning rate; 0: all of it
  float epsilon = 0;
  double momentum = 0;  // Adam, Lion: beta 1
  double weight_decay = 0;
  double beta2 = 0;
  bool decoupled = false;  // Adam: decay the weights, not the gradient (AdamW)
  bool nesterov = false;   // SGD
  bool delayed = false;
  bool scaled = false;  // its factor is of scaled gradients (scale_loss.hpp)
  bool operator==(const UpdateAttributes&) const = default;
};

// kClipFactor: norm / (the gradients' norm + epsilon), at most 1; the gradients' norm is the root of all sums, which it adds
// up over ranks where these are above 1 (clip_gradients.hpp). Scaled: divided by the scale of losses, and a norm of 0 clips
// nothing.
struct ClipAttributes {
  float norm = 0;
  float epsilon = 0;
  std::int64_t ranks = 0;
  bool scaled = false;
  bool operator==(const ClipAttributes&) const = default;
};

// kAccumulateGradient: the sum is factor * dw plus the sum so far, in fp32.
struct FactorAttributes {
  float factor = 0;
  bool operator==(const FactorAttributes&) const = default;
};

// kReduceScatter, kOwnPart, kAllGather (partition_updates.hpp). Sums over ranks are multiplied by `factor`; kAllGather makes
// x in `shape`.
struct RanksAttributes {
  std::int64_t ranks = 0;
  float factor = 0;
  Shape shape = {};
  bool operator==(const RanksAttributes&) const = default;
};

// kLossScale: the scale is multiplied by `backoff` behind an update left out, and by `growth` behind `steps` others.
struct LossScaleAttributes {
  float growth = 0, backoff = 0;
  std::int64_t steps = 0;
  bool operator==(const LossScaleAttributes&) const = default;
};

// kSparseProduct: as many columns as x has along the axis.
struct SparseAttributes {
  std::int64_t axis = 0;
  SharedMatrix matrix = {};
  bool operator==(const SparseAttributes&) const = default;
};

// kRunningSum: forwards, of all up to each; else of each and all behind it.
struct RunningSumAttributes {
  std::int64_t axis = 0;
  bool forwards = false;
  bool operator==(const RunningSumAttributes&) const = default;
};

using Attributes = std::variant<NoAttributes, InputAttributes, ConvolutionAttributes, PoolAttributes, NormAttributes,
                                ResponseNormAttributes, UnaryAttributes, AddAttributes, BinaryAttributes,
                                ReduceAttributes, ShapeAttributes, TransposeAttributes, ConcatAttributes,
                                PartAttributes, ProductAttributes, SoftmaxAttributes, RecurrentAttributes,
                                DropoutAttributes, TargetAttributes, UpdateAttributes, ClipAttributes, FactorAttributes,
                                RanksAttributes, LossScaleAttributes, SparseAttributes, RunningSumAttributes>;

// Which part of a whole op's work an op does; 0:0 is all of it. It is beside the attributes, because slicing cuts ops of
// many families.
//   A dense op or embedding works with those output features or vocabulary rows only; its weights are that part. In
//   kDense and kEmbedding `partial` means: other parts of y were written before and stay; in kDenseBackwardData: the
//   slice's contribution is added to dx. dbias of a slice has the slice's length (slice_dense.hpp).
//   kSliceBatch and kPlaceBatch: these samples of x (slice_batch.hpp).
//   kSoftmaxCrossEntropy and its gradient: which of the labels, counted row-major, the logits belong to. The labels
//   operand still holds all labels, and the mean is over all of them (slice_loss.hpp); `accumulate` applies to the loss
//   alone.
struct Slice {
  std::int64_t begin = 0, end = 0;
  bool partial = false;
  bool accumulate = false;  // the contribution is added to the gradient, in place
  bool operator==(const Slice&) const = default;
};

[[noreturn]] void fail_family(const Attributes& attributes);

// The attributes as those of a family. Those of another break an invariant of ours and throw.
template <typename Family>
const Family& attributes_as(const Attributes& attributes) {
  if (!std::holds_alternative<Family>(attributes)) fail_family(attributes);
  return *std::get_if<Family>(&attributes);
}
template <typename Family>
Family& attributes_as(Attributes& attributes) {
  if (!std::holds_alternative<Family>(attributes)) fail_family(attributes);
  return *std::get_if<Family>(&attributes);
}

// Of families that work along a dimension; 0 of the others.
std::int64_t axis_of(const Attributes& attributes);
// Of families that can apply a function last; kNone of the others.
Activation fused_activation(const Attributes& attributes);
// Only of families that can, unless it is kNone.
void fuse_activation(Attributes& attributes, Activation activation);

// Keys of what is kept on disk: the same in every release. A dropout's stream is not in the text, since any takes the same
// time.
void hash_attributes(Hasher& hasher, const Attributes& attributes, const Slice& slice);
std::string attribute_text(const Attributes& attributes, const Slice& slice);

}  // namespace sluice::graph
