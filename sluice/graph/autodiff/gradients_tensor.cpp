// Gradients of the op kinds without parameters, made of forward kinds.
#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/autodiff/gradients.hpp"

namespace sluice {
namespace {

using Permutation = std::vector<std::int64_t>;

TensorId mapped(GradientTape& tape, const Op& op, TensorId x, UnaryFunction function, float alpha, float beta = 0) {
  const Attributes attributes{.unary = function, .alpha = alpha, .beta = beta};
  return tape.emit_one(op, OpKind::kUnary, attributes, {x}, tape.shape(x));
}

TensorId scaled(GradientTape& tape, const Op& op, TensorId x, float factor) {
  return mapped(tape, op, x, UnaryFunction::kLinear, factor);
}

TensorId combined_to(GradientTape& tape, const Op& op, BinaryFunction function, TensorId a, TensorId b,
                     const Shape& shape) {
  Attributes attributes;
  attributes.binary = function;
  return tape.emit_one(op, OpKind::kBinary, attributes, {a, b}, shape);
}

TensorId combined(GradientTape& tape, const Op& op, BinaryFunction function, TensorId a, TensorId b) {
  return combined_to(tape, op, function, a, b, tape.shape(op.outputs[0]));
}

TensorId summed(GradientTape& tape, const Op& op, TensorId x, std::vector<std::int64_t> axes) {
  Shape shape = tape.shape(x);
  for (const std::int64_t axis : axes) shape[as_index(axis)] = 1;
  Attributes attributes;
  attributes.reduce = ReduceFunction::kSum;
  attributes.axes = std::move(axes);
  return tape.emit_one(op, OpKind::kReduce, attributes, {x}, shape);
}

// The dimensions of `whole` along which a tensor of shape `part` was repeated. Matched from the last.
std::vector<std::int64_t> repeated_axes(const Shape& part, const Shape& whole) {
  std::vector<std::int64_t> axes;
  const std::size_t missing = whole.size() - part.size();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const std::int64_t extent = i < missing ? 1 : part[i - missing];
    if (extent != whole[i]) axes.push_back(static_cast<std::int64_t>(i));
  }
  return axes;
}

// Hands to `to` the gradient that its broadcast form has; `made` says whether it is a tensor made for it.
void give_broadcast(GradientTape& tape, const Op& op, TensorId to, TensorId gradient, bool made) {
  if (const auto axes = repeated_axes(tape.shape(to), tape.shape(gradient)); !axes.empty()) {
    gradient = summed(tape, op, gradient, axes);
    made = true;
  }
  if (tape.shape(gradient) != tape.shape(to)) {
    Attributes attributes;
    attributes.shape = tape.shape(to);
    return tape.give_view(op, to, tape.emit_one(op, OpKind::kReshape, attributes, {gradient}, attributes.shape));
  }
  made ? tape.give(op, to, gradient) : tape.share(op, to, gradient);
}

// dy where `function` of its operands holds, else 0.
TensorId chosen(GradientTape& tape, const Op& op, TensorId dy, BinaryFunction function, TensorId a, TensorId b) {
  return combined(tape, op, BinaryFunction::kMultiply, dy, combined(tape, op, function, a, b));
}

// dy b a^(b - 1)
TensorId power_to_base(GradientTape& tape, const Op& op, TensorId dy) {
  const auto [a, b] = std::pair(op.inputs[0], op.inputs[1]);
  const TensorId less = mapped(tape, op, b, UnaryFunction::kLinear, 1, -1);
  const TensorId slope = combined(tape, op, BinaryFunction::kPower, a, less);
  return combined(tape, op, BinaryFunction::kMultiply, combined(tape, op, BinaryFunction::kMultiply, dy, b), slope);
}

// dy y log a; at an `a` of 0 as y is: 0 unless b is 0, too.
TensorId power_to_exponent(GradientTape& tape, const Op& op, TensorId dy) {
  constexpr auto kLeast = std::numeric_limits<float>::min();
  const TensorId above =
      mapped(tape, op, op.inputs[0], UnaryFunction::kClip, kLeast, std::numeric_limits<float>::max());
  const TensorId log = mapped(tape, op, above, UnaryFunction::kLog, 0);
  return combined(tape, op, BinaryFunction::kMultiply, combined(tape, op, BinaryFunction::kMultiply, dy, op.outputs[0]),
                  log);
}

void differentiate_first(GradientTape& tape, const Op& op, TensorId dy) {
  const auto [a, b] = std::pair(op.inputs[0], op.inputs[1]);
  switch (op.attributes.binary) {
    case BinaryFunction::kMultiply:
      return give_broadcast(tape, op, a, combined(tape, op, BinaryFunction::kMultiply, dy, b), true);
    case BinaryFunction::kDivide:
      return give_broadcast(tape, op, a, combined(tape, op, BinaryFunction::kDivide, dy, b), true);
    case BinaryFunction::kMaximum:
      return give_broadcast(tape, op, a, chosen(tape, op, dy, BinaryFunction::kLessOrEqual, b, a), true);
    case BinaryFunction::kMinimum:
      return give_broadcast(tape, op, a, chosen(tape, op, dy, BinaryFunction::kLessOrEqual, a, b), true);
    case BinaryFunction::kPower:
      return give_broadcast(tape, op, a, power_to_base(tape, op, dy), true);
    default:  // sums, differences, what a division leaves
      return give_broadcast(tape, op, a, dy, false);
  }
}

// d(a / b) / db = -y / b
TensorId quotient_to_divisor(GradientTape& tape, const Op& op, TensorId dy) {
  const TensorId share = combined(tape, op, BinaryFunction::kDivide, dy, op.inputs[1]);
  return scaled(tape, op, combined(tape, op, BinaryFunction::kMultiply, share, op.outputs[0]), -1);
}

// What a division leaves, y = a - b n: dy times -n = (y - a) / b.
TensorId rest_to_divisor(GradientTape& tape, const Op& op, TensorId dy) {
  const TensorId taken = combined(tape, op, BinaryFunction::kSubtract, op.outputs[0], op.inputs[0]);
  const TensorId times = combined(tape, op, BinaryFunction::kDivide, taken, op.inputs[1]);
  return combined(tape, op, BinaryFunction::kMultiply, dy, times);
}

void differentiate_second(GradientTape& tape, const Op& op, TensorId dy) {
  const auto [a, b] = std::pair(op.inputs[0], op.inputs[1]);
  switch (op.attributes.binary) {
    case BinaryFunction::kSubtract:
      return give_broadcast(tape, op, b, scaled(tape, op, dy, -1), true);
    case BinaryFunction::kMultiply:
      return give_broadcast(tape, op, b, combined(tape, op, BinaryFunction::kMultiply, dy, a), true);
    case BinaryFunction::kDivide:
      return give_broadcast(tape, op, b, quotient_to_divisor(tape, op, dy), true);
    case BinaryFunction::kMaximum:
      return give_broadcast(tape, op, b, chosen(tape, op, dy, BinaryFunction::kLess, a, b), true);
    case BinaryFunction::kMinimum:
      return give_broadcast(tape, op, b, chosen(tape, op, dy, BinaryFunction::kLess, b, a), true);
    case BinaryFunction::kPower:
      return give_broadcast(tape, op, b, power_to_exponent(tape, op, dy), true);
    case BinaryFunction::kModulo:
    case BinaryFunction::kRemainder:
      return give_broadcast(tape, op, b, rest_to_divisor(tape, op, dy), true);
    default:
      return give_broadcast(tape, op, b, dy, false);
  }
}

// Each of the largest has an equal share.
TensorId maximum_shares(GradientTape& tape, const Op& op, TensorId dy) {
  const auto [x, y] = std::pair(op.inputs[0], op.outputs[0]);
  const TensorId largest = combined_to(tape, op, BinaryFunction::kEqual, x, y, tape.shape(x));
  const TensorId count = summed(tape, op, largest, op.attributes.axes);
  const TensorId share = combined(tape, op, BinaryFunction::kDivide, dy, count);
  return combined_to(tape, op, BinaryFunction::kMultiply, largest, share, tape.shape(x));
}

Permutation identity(std::size_t rank) {
  Permutation axes(rank);
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  return axes;
}

// In these three an empty permutation is the identity; results are empty where they are it.
Permutation normalised(const Permutation& axes) { return axes == identity(axes.size()) ? Permutation{} : axes; }

Permutation inverse(const Permutation& axes) {
  Permutation result(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) result[as_index(axes[i])] = static_cast<std::int64_t>(i);
  return normalised(result);
}

// Then the last two dimensions swapped.
Permutation transposed(Permutation axes, std::size_t rank) {
  if (axes.empty()) axes = identity(rank);
  std::swap(axes[rank - 1], axes[rank - 2]);
  return normalised(axes);
}

}  // namespace

void differentiate_unary(GradientTape& tape, const Op& op, TensorId dy) {
  const TensorId x = op.inputs[0];
  if (!tape.needs(x)) return;
  if (op.attributes.unary == UnaryFunction::kLinear) {
    if (op.attributes.alpha == 1) return tape.share(op, x, dy);
    return tape.give(op, x, scaled(tape, op, dy, op.attributes.alpha));
  }
  const TensorId kept = backward_reads_output(op.attributes.unary) ? op.outputs[0] : x;
  tape.give(op, x, tape.emit_one(op, OpKind::kUnaryBackward, op.attributes, {kept, dy}, tape.shape(x)));
}

void differentiate_binary(GradientTape& tape, const Op& op, TensorId dy) {
  if (tape.needs(op.inputs[0])) differentiate_first(tape, op, dy);
  if (tape.needs(op.inputs[1])) differentiate_second(tape, op, dy);
}

void differentiate_reduce(GradientTape& tape, const Op& op, TensorId dy) {
  const TensorId x = op.inputs[0];
  if (!tape.needs(x)) return;
  const Shape shape = tape.shape(x);
  const std::int64_t count = element_count(shape) / element_count(tape.shape(dy));
  if (count == 1) return tape.share(op, x, dy);
  if (op.attributes.reduce == ReduceFunction::kMaximum) return tape.give(op, x, maximum_shares(tape, op, dy));
  if (op.attributes.reduce == ReduceFunction::kMean) dy = scaled(tape, op, dy, 1 / static_cast<float>(count));
  Attributes attributes;
  attributes.shape = shape;
  tape.give(op, x, tape.emit_one(op, OpKind::kBroadcast, attributes, {dy}, shape));
}

void differentiate_broadcast(GradientTape& tape, const Op& op, TensorId dy) {
  if (tape.needs(op.inputs[0])) give_broadcast(tape, op, op.inputs[0], dy, false);
}

void differentiate_reshape(GradientTape& tape, const Op& op, TensorId dy) {
  const TensorId x = op.inputs[0];
  if (!tape.needs(x)) return;
  Attributes attributes;
  attributes.shape = tape.shape(x);
  tape.give_view(op, x, tape.emit_one(op, OpKind::kReshape, attributes, {dy}, attributes.shape));
}

void differentiate_transpose(GradientTape& tape, const Op& op, TensorId dy) {
  const TensorId x = op.inputs[0];
  if (!tape.needs(x)) return;
  Attributes attributes;
  attributes.axes = inverse(op.attributes.axes);
  tape.give(op, x, tape.emit_one(op, OpKind::kTranspose, attributes, {dy}, tape.shape(x)));
}

void differentiate_concat(GradientTape& tape, const Op& op, TensorId dy) {
  Attributes attributes;
  attributes.axis = op.attributes.axis;
  for (const TensorId part : op.inputs) {
    attributes.out_begin = attributes.out_end;
    attributes.out_end += tape.shape(part)[as_index(attributes.axis)];
    if (!tape.needs(part)) continue;
    tape.give(op, part, tape.emit_one(op, OpKind::kSlice, attributes, {dy}, tape.shape(part)));
  }
}

void differentiate_pad(GradientTape& tape, const Op& op, TensorId dy) {
  const TensorId x = op.inputs[0];
  if (!tape.needs(x)) return;
  Attributes attributes = op.attributes;
  attributes.shape = {};
  tape.give(op, x, tape.emit_one(op, OpKind::kSlice, attributes, {dy}, tape.shape(x)));
}

// The transposed matrix back.
void differentiate_sparse_product(GradientTape& tape, const Op& op, TensorId dy) {
  const TensorId x = op.inputs[0];
  if (!tape.needs(x)) return;
  const Attributes attributes{.axis = op.attributes.axis, .matrix = transposed(*op.attributes.matrix)};
  tape.give(op, x, tape.emit_one(op, OpKind::kSparseProduct, attributes, {dy}, tape.shape(x)));
}

// With A and B the operands after their permutations: dA = dY B^T and dB = A^T dY. Permutations compose, so no operand
// is transposed beforehand.
void differentiate_matmul(GradientTape& tape, const Op& op, TensorId dy) {
  const auto [a, b] = std::pair(op.inputs[0], op.inputs[1]);
  const std::size_t rank = tape.shape(a).size();
  Attributes attributes;
  attributes.alpha = op.attributes.alpha;
  if (tape.needs(a)) {
    attributes.perm_a = inverse(op.attributes.perm_y);
    attributes.perm_b = transposed(op.attributes.perm_b, rank);
    attributes.perm_y = inverse(op.attributes.perm_a);
    tape.give(op, a, tape.emit_one(op, OpKind::kMatMul, attributes, {dy, b}, tape.shape(a)));
  }
  if (tape.needs(b)) {
    attributes.perm_a = transposed(op.attributes.perm_a, rank);
    attributes.perm_b = inverse(op.attributes.perm_y);
    attributes.perm_y = inverse(op.attributes.perm_b);
    tape.give(op, b, tape.emit_one(op, OpKind::kMatMul, attributes, {a, dy}, tape.shape(b)));
  }
}

}  // namespace sluice
