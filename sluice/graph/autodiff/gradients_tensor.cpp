// Gradients of the op kinds that move elements or multiply matrices, made of forward kinds.
#include <algorithm>
#include <numeric>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/autodiff/gradients.hpp"

namespace sluice::graph {
namespace {

using Permutation = std::vector<std::int64_t>;

Permutation identity(std::size_t rank) {
  Permutation axes(rank);
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  return axes;
}

// In these three an empty permutation is the identity; results are empty where they are it.
Permutation normalised(const Permutation& axes) { return axes == identity(axes.size()) ? Permutation{} : axes; }

Permutation inverse(const Permutation& axes) {
  Permutation result(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) result[as_index(axes[i])] = as_id<std::int64_t>(i);
  return normalised(result);
}

// Then the last two dimensions swapped.
Permutation transposed(Permutation axes, std::size_t rank) {
  if (axes.empty()) axes = identity(rank);
  std::swap(axes[rank - 1], axes[rank - 2]);
  return normalised(axes);
}

}  // namespace

void differentiate_reshape(GradientTape& tape, const Op& op, TensorId dy) {
  const TensorId x = op.inputs[0];
  if (!tape.needs(x)) return;
  const ShapeAttributes attributes{tape.shape(x)};
  tape.give_view(op, x, tape.emit_one(op, OpKind::kReshape, attributes, {dy}, attributes.shape));
}

void differentiate_transpose(GradientTape& tape, const Op& op, TensorId dy) {
  const TensorId x = op.inputs[0];
  if (!tape.needs(x)) return;
  const TransposeAttributes attributes{inverse(op.as<TransposeAttributes>().axes)};
  tape.give(op, x, tape.emit_one(op, OpKind::kTranspose, attributes, {dy}, tape.shape(x)));
}

void differentiate_concat(GradientTape& tape, const Op& op, TensorId dy) {
  PartAttributes attributes{.axis = op.as<ConcatAttributes>().axis};
  for (const TensorId part : op.inputs) {
    attributes.begin = attributes.end;
    attributes.end += tape.shape(part)[as_index(attributes.axis)];
    if (!tape.needs(part)) continue;
    tape.give(op, part, tape.emit_one(op, OpKind::kSlice, attributes, {dy}, tape.shape(part)));
  }
}

void differentiate_pad(GradientTape& tape, const Op& op, TensorId dy) {
  const TensorId x = op.inputs[0];
  if (!tape.needs(x)) return;
  auto attributes = op.as<PartAttributes>();
  attributes.shape = {};
  tape.give(op, x, tape.emit_one(op, OpKind::kSlice, attributes, {dy}, tape.shape(x)));
}

// The transposed matrix back.
void differentiate_sparse_product(GradientTape& tape, const Op& op, TensorId dy) {
  const TensorId x = op.inputs[0];
  if (!tape.needs(x)) return;
  const auto& [axis, matrix] = op.as<SparseAttributes>();
  const SparseAttributes attributes{.axis = axis, .matrix = transposed(*matrix)};
  tape.give(op, x, tape.emit_one(op, OpKind::kSparseProduct, attributes, {dy}, tape.shape(x)));
}

// With A and B the operands after their permutations: dA = dY B^T and dB = A^T dY. Permutations compose, so no operand
// is transposed beforehand.
void differentiate_matmul(GradientTape& tape, const Op& op, TensorId dy) {
  const auto [a, b] = std::pair(op.inputs[0], op.inputs[1]);
  const std::size_t rank = tape.shape(a).size();
  const auto& forward = op.as<ProductAttributes>();
  ProductAttributes attributes{.factor = forward.factor};
  if (tape.needs(a)) {
    attributes.perm_a = inverse(forward.perm_y);
    attributes.perm_b = transposed(forward.perm_b, rank);
    attributes.perm_y = inverse(forward.perm_a);
    tape.give(op, a, tape.emit_one(op, OpKind::kMatMul, attributes, {dy, b}, tape.shape(a)));
  }
  if (tape.needs(b)) {
    attributes.perm_a = transposed(forward.perm_a, rank);
    attributes.perm_b = inverse(forward.perm_y);
    attributes.perm_y = inverse(forward.perm_b);
    tape.give(op, b, tape.emit_one(op, OpKind::kMatMul, attributes, {a, dy}, tape.shape(b)));
  }
}

}  // namespace sluice::graph
