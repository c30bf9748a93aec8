#include "sluice/graph/shapes/forward_claim.hpp"

#include <array>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"

namespace sluice::graph {
namespace {

using Claim = std::optional<ForwardClaim>;

Shapes concatenate(Shapes first, const Shapes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// Of ops whose first input is the gradient of y, and whose output that of x.
Claim data_claim(OpKind forward, const Shapes& in, const Shapes& out) {
  if (in.size() != 2 || out.empty()) return std::nullopt;
  return ForwardClaim{forward, {out[0], in[1]}, {in[0]}};
}

// Of ops that make the gradients of all inputs but x from x and the gradient of y.
Claim weights_claim(OpKind forward, const Shapes& in, const Shapes& out) {
  if (in.size() != 2 || out.empty()) return std::nullopt;
  return ForwardClaim{forward, concatenate({in[0]}, out), {in[1]}};
}

Claim pool_claim(OpKind forward, std::size_t inputs, const Shapes& in, const Shapes& out) {
  if (in.size() != inputs || out.empty()) return std::nullopt;
  return ForwardClaim{forward, out, in};
}

// The rule of a loss's gradient knows no scale.
ForwardClaim without_scale(ForwardClaim claim, std::size_t own) {
  if (claim.inputs.size() != own + 1) return claim;
  claim.equal.emplace_back(claim.inputs.back(), Shape{1});
  claim.inputs.pop_back();
  return claim;
}

}  // namespace

Claim own_claim(const Op& op, const Shapes& in, const Shapes& out) { return ForwardClaim{op.kind, in, out}; }

Claim conv2d_data_claim(const Op& /*op*/, const Shapes& in, const Shapes& out) {
  return data_claim(OpKind::kConv2d, in, out);
}
Claim conv2d_weights_claim(const Op& /*op*/, const Shapes& in, const Shapes& out) {
  return weights_claim(OpKind::kConv2d, in, out);
}
Claim conv_transpose2d_data_claim(const Op& /*op*/, const Shapes& in, const Shapes& out) {
  return data_claim(OpKind::kConvTranspose2d, in, out);
}
Claim conv_transpose2d_weights_claim(const Op& /*op*/, const Shapes& in, const Shapes& out) {
  return weights_claim(OpKind::kConvTranspose2d, in, out);
}
Claim dense_data_claim(const Op& /*op*/, const Shapes& in, const Shapes& out) {
  return data_claim(OpKind::kDense, in, out);
}
Claim dense_weights_claim(const Op& /*op*/, const Shapes& in, const Shapes& out) {
  return weights_claim(OpKind::kDense, in, out);
}
Claim embedding_claim(const Op& /*op*/, const Shapes& in, const Shapes& out) {
  return weights_claim(OpKind::kEmbedding, in, out);
}

Claim batch_norm_claim(const Op& /*op*/, const Shapes& in, const Shapes& out) {
  if (in.size() != 4 || out.size() < 2) return std::nullopt;
  return ForwardClaim{OpKind::kBatchNorm, {out[0], in[2], in[3]}, {in[1], in[3], out[1]}, {{in[0], out[0]}}};
}

Claim layer_norm_claim(const Op& /*op*/, const Shapes& in, const Shapes& out) {
  if (in.size() != 4 || out.size() < 2) return std::nullopt;
  return ForwardClaim{OpKind::kLayerNorm, {out[0], in[2]}, {in[1], in[3]}, {{in[0], out[0]}, {out[1], in[2]}}};
}

Claim lstm_cell_claim(const Op& op, const Shapes& in, const Shapes& out) {
  const auto& a = op.as<RecurrentAttributes>();
  const std::size_t inputs = 3 + (a.state ? 2U : 0U) + (a.carry ? 1U : 0U);
  if (in.size() != inputs || out.size() < (a.state ? 3U : 1U)) return std::nullopt;
  ForwardClaim claim{OpKind::kLstmCell, {in[1]}, {in[0], in[2], out[0]}};
  if (a.state) {
    claim.inputs.insert(claim.inputs.end(), {out[1], in[3], in[4]});
    claim.equal.emplace_back(out[2], in[3]);
  }
  if (a.carry) claim.equal.emplace_back(in.back(), in[2]);
  return claim;
}

Claim max_pool_claim(const Op& /*op*/, const Shapes& in, const Shapes& out) {
  return pool_claim(OpKind::kMaxPool, 2, in, out);
}
Claim avg_pool_claim(const Op& /*op*/, const Shapes& in, const Shapes& out) {
  return pool_claim(OpKind::kAvgPool, 1, in, out);
}

Claim softmax_cross_entropy_claim(const Op& /*op*/, const Shapes& in, const Shapes& out) {
  return without_scale({OpKind::kSoftmaxCrossEntropy, in, {{1}, out[0]}}, 2);
}
Claim loss_claim(const Op& op, const Shapes& in, const Shapes& out) { return without_scale({op.kind, in, out}, 1); }

// The rule of an update knows neither factor nor `filled` nor the parameter in 16 bits.
Claim update_claim(const Op& op, const Shapes& in, const Shapes& out) {
  ForwardClaim claim{op.kind, in, out};
  const std::size_t own = 2 + moments_of(op.kind);
  for (; claim.inputs.size() > own; claim.inputs.pop_back()) {
    const bool scaled = op.as<UpdateAttributes>().scaled && claim.inputs.size() == own + 1;
    claim.equal.emplace_back(claim.inputs.back(), Shape{scaled ? 2 : 1});
  }
  if (has_master(op)) {
    claim.equal.emplace_back(out.back(), in[0]);
    claim.outputs.pop_back();
  }
  return claim;
}

// The first one of a step adds to nothing.
Claim accumulate_claim(const Op& op, const Shapes& in, const Shapes& out) {
  if (in.size() == 1) return own_claim(op, in, out);
  return ForwardClaim{op.kind, {in[0]}, out, {{in[1], in[0]}}};
}

// The last one of a step fills.
Claim delay_claim(const Op& op, const Shapes& in, const Shapes& out) {
  if (out.size() == 1) return own_claim(op, in, out);
  return ForwardClaim{op.kind, in, {out[0]}, {{out[1], Shape{1}}}};
}

std::optional<ForwardClaim> forward_claim(const Op& op, const Shapes& inputs, const Shapes& outputs) {
#define SLUICE_CLAIM(...) SLUICE_OP_CLAIM(__VA_ARGS__),
  static constexpr std::array<Claim (*)(const Op&, const Shapes&, const Shapes&), kOpKinds> kClaims{
      SLUICE_OPS(SLUICE_CLAIM)};
#undef SLUICE_CLAIM
  return kClaims.at(as_index(op.kind))(op, inputs, outputs);
}

}  // namespace sluice::graph
