// Ops: one scheduled operation each, at an OpIndex. The table of kinds (op_table.hpp) fixes the operands of each; shape
// rules, autodiff and the backends all follow it.
//
// Shapes. Image tensors are [N, C, H, W]; convolution weights [O, I / groups, KH, KW], transposed ones
// [I, O / groups, KH, KW]. scale_shift, running and the stats of a batch norm are [2, C] (scale/mean first,
// shift/variance second); a layer norm works along the last dimension C of x, its stats are [2, rows] (mean, then
// 1 / standard deviation). Dense weights are [out, in]; a dense op reads x as rows: a row is the shortest run of last
// dimensions that has `in` elements, and y is x's shape with that run replaced by `out` ([N, C, H, W] -> [N, out];
// [B, S, in] -> [B, S, out]). kMatMul: after `perm_a` and `perm_b` its operands are [..., M, K] and [..., K, N] with
// the same leading dimensions; the product [..., M, N], transposed by `perm_y`, is y; scaled by `factor`. An empty
// permutation is the identity. Embedding: ids of any shape, w [vocabulary, C], y is ids' shape + [C]. LSTM gates are
// [B, 4H] in the order input, forget, cell, output: before the activation in gates_x (input projection and biases) and
// dgates, after it in gates; w is [4H, H]. Logits are [..., classes], labels the same without the last dimension; a
// label of -1 is left out of the mean. The loss of kSigmoidCrossEntropy is against a constant target.
//
// Batch norms in parts (split_batch_norm.hpp): kBatchNorm is kBatchNormStatistics of equally many samples each, their
// kBatchNormMerge, and kBatchNormApply; kBatchNormBackward is ...BackwardSums, added up over the samples, and
// ...BackwardApply. Merge and ...BackwardApply do not see all of x and are told its size. Attributes are otherwise as in
// the op they come from.
//
// Clipping (clip_gradients.hpp): updates multiply dw by the factor. Loss scaling (scale_loss.hpp): losses' gradients are
// multiplied by `scale` ([1]). A scaled factor is divided by it, and below 0 where the gradients are not finite: updates
// then change nothing. Its second element counts the updates left out so far, by which Adam's steps are fewer. counts
// ([2]): updates since the scale has changed, updates left out.
//
// Ranks (partition_updates.hpp): a part of x is [ceil(elements / ranks)], row-major. The ranks' sum is added up in fp32, in
// their order, and has x's type.
//
// Fused activations: `activation` (kRelu, kRelu6) of kConv2d, kConvTranspose2d, kBatchNorm(+Apply), kAdd, kConcat and
// kMaxPool (kRelu only) is applied last. The gradient of a batch norm's activation is computed inside
// kBatchNormBackward, which makes the pre-activation again from x. For a batch norm with a residual, and for the other
// kinds, autodiff puts a kReluBackward or kUnaryBackward before the backward op.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/processor_id.hpp"
#include "sluice/graph/ops/attributes.hpp"
#include "sluice/graph/ops/op_table.hpp"
#include "sluice/graph/ops/tensor.hpp"

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

// The ops that a step's gradients start from.
bool is_loss(OpKind kind);

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
  Attributes attributes = {};  // of its kind's family (op_table.hpp)
  Slice slice = {};
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

  // The attributes, which must be of that family (attributes.hpp).
  template <typename Family>
  const Family& as() const {
    return attributes_as<Family>(attributes);
  }
  template <typename Family>
  Family& as() {
    return attributes_as<Family>(attributes);
  }
};

// What an op of the kind is told where nothing else is said: its family's defaults.
const Attributes& default_attributes(OpKind kind);
inline bool of_family(OpKind kind, const Attributes& attributes) {
  return attributes.index() == default_attributes(kind).index();
}

std::string_view to_string(OpKind kind);  // "conv2d_backward_data"
std::string_view to_string(Phase phase);
std::string_view to_string(Role role);
std::string_view to_string(DType dtype);

}  // namespace sluice::graph
