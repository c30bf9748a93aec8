#include "sluice/graph/shapes/forward_claim.hpp"

#include "sluice/graph/op_traits.hpp"

namespace sluice {
namespace {

Shapes concatenate(Shapes first, const Shapes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

struct OperandCounts {
  std::size_t inputs = 0;
  std::size_t outputs = 1;
};

// At least as many outputs; nothing for kinds with a rule of their own, which counts.
std::optional<OperandCounts> backward_operands(const Op& op) {
  const Attributes& a = op.attributes;
  switch (op.kind) {
    case OpKind::kConv2dBackwardData:
    case OpKind::kConv2dBackwardWeights:
    case OpKind::kConvTranspose2dBackwardData:
    case OpKind::kConvTranspose2dBackwardWeights:
    case OpKind::kDenseBackwardData:
    case OpKind::kDenseBackwardWeights:
    case OpKind::kEmbeddingBackward:
    case OpKind::kMaxPoolBackward:
      return OperandCounts{2, 1};
    case OpKind::kAvgPoolBackward:
      return OperandCounts{1, 1};
    case OpKind::kBatchNormBackward:
    case OpKind::kLayerNormBackward:
      return OperandCounts{4, 2};
    case OpKind::kLstmCellBackward:
      return OperandCounts{3 + (a.state ? 2U : 0U) + (a.carry ? 1U : 0U), a.state ? 3U : 1U};
    default:
      return std::nullopt;
  }
}

ForwardClaim lstm_cell_claim(const Op& op, const Shapes& in, const Shapes& out) {
  ForwardClaim claim{OpKind::kLstmCell, {in[1]}, {in[0], in[2], out[0]}};
  if (op.attributes.state) {
    claim.inputs.insert(claim.inputs.end(), {out[1], in[3], in[4]});
    claim.equal.emplace_back(out[2], in[3]);
  }
  if (op.attributes.carry) claim.equal.emplace_back(in.back(), in[2]);
  return claim;
}

// The rule of an update knows neither factor nor `filled` nor the parameter in 16 bits.
ForwardClaim update_claim(const Op& op, const Shapes& in, const Shapes& out) {
  ForwardClaim claim{op.kind, in, out};
  const std::size_t own = 2 + moments_of(op.kind);
  for (; claim.inputs.size() > own; claim.inputs.pop_back()) {
    const bool scaled = op.attributes.scaled && claim.inputs.size() == own + 1;
    claim.equal.emplace_back(claim.inputs.back(), Shape{scaled ? 2 : 1});
  }
  if (has_master(op)) {
    claim.equal.emplace_back(out.back(), in[0]);
    claim.outputs.pop_back();
  }
  return claim;
}

// The rule of a loss's gradient knows no scale.
ForwardClaim without_scale(ForwardClaim claim, std::size_t own) {
  if (claim.inputs.size() != own + 1) return claim;
  claim.equal.emplace_back(claim.inputs.back(), Shape{1});
  claim.inputs.pop_back();
  return claim;
}

ForwardClaim claim_of(const Op& op, const Shapes& in, const Shapes& out) {
  switch (op.kind) {
    case OpKind::kConv2dBackwardData:
      return {OpKind::kConv2d, {out[0], in[1]}, {in[0]}};
    case OpKind::kConv2dBackwardWeights:
      return {OpKind::kConv2d, concatenate({in[0]}, out), {in[1]}};
    case OpKind::kConvTranspose2dBackwardData:
      return {OpKind::kConvTranspose2d, {out[0], in[1]}, {in[0]}};
    case OpKind::kConvTranspose2dBackwardWeights:
      return {OpKind::kConvTranspose2d, concatenate({in[0]}, out), {in[1]}};
    case OpKind::kDenseBackwardData:
      return {OpKind::kDense, {out[0], in[1]}, {in[0]}};
    case OpKind::kDenseBackwardWeights:
      return {OpKind::kDense, concatenate({in[0]}, out), {in[1]}};
    case OpKind::kEmbeddingBackward:
      return {OpKind::kEmbedding, concatenate({in[0]}, out), {in[1]}};
    case OpKind::kBatchNormBackward:
      return {OpKind::kBatchNorm, {out[0], in[2], in[3]}, {in[1], in[3], out[1]}, {{in[0], out[0]}}};
    case OpKind::kLayerNormBackward:
      return {OpKind::kLayerNorm, {out[0], in[2]}, {in[1], in[3]}, {{in[0], out[0]}, {out[1], in[2]}}};
    case OpKind::kLstmCellBackward:
      return lstm_cell_claim(op, in, out);
    case OpKind::kMaxPoolBackward:
      return {OpKind::kMaxPool, out, in};
    case OpKind::kAvgPoolBackward:
      return {OpKind::kAvgPool, out, in};
    case OpKind::kSoftmaxCrossEntropyBackward:
      return without_scale({OpKind::kSoftmaxCrossEntropy, in, {{1}, out[0]}}, 2);
    case OpKind::kSigmoidCrossEntropyBackward:
    case OpKind::kMeanLossBackward:
      return without_scale({op.kind, in, out}, 1);
    case OpKind::kSgdUpdate:
    case OpKind::kAdamUpdate:
      return update_claim(op, in, out);
    case OpKind::kAccumulateGradient:  // the first one of a step adds to nothing
      if (in.size() == 1) return {op.kind, in, out};
      return {op.kind, {in[0]}, out, {{in[1], in[0]}}};
    case OpKind::kDelayGradient:  // the last one of a step fills
      if (out.size() == 1) return {op.kind, in, out};
      return {op.kind, in, {out[0]}, {{out[1], Shape{1}}}};
    default:
      return {op.kind, in, out};
  }
}

}  // namespace

std::optional<ForwardClaim> forward_claim(const Op& op, const Shapes& inputs, const Shapes& outputs) {
  const std::optional<OperandCounts> counts = backward_operands(op);
  if (counts && (inputs.size() != counts->inputs || outputs.size() < counts->outputs)) return std::nullopt;
  return claim_of(op, inputs, outputs);
}

}  // namespace sluice
