// Gradients of functions of elements, of broadcasts and of what undoes them, made of forward kinds.
#include <tuple>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/autodiff/gradients.hpp"

namespace sluice::graph {
namespace {

TensorId mapped(GradientTape& tape, const Op& op, TensorId x, UnaryFunction function, float alpha, float beta = 0) {
  const UnaryAttributes attributes{.function = function, .alpha = alpha, .beta = beta};
  return tape.emit_one(op, OpKind::kUnary, attributes, {x}, tape.shape(x));
}

TensorId scaled(GradientTape& tape, const Op& op, TensorId x, float factor) {
  return mapped(tape, op, x, UnaryFunction::kLinear, factor);
}

TensorId combined_to(GradientTape& tape, const Op& op, BinaryFunction function, TensorId a, TensorId b,
                     const Shape& shape) {
  return tape.emit_one(op, OpKind::kBinary, BinaryAttributes{function}, {a, b}, shape);
}

TensorId combined(GradientTape& tape, const Op& op, BinaryFunction function, TensorId a, TensorId b) {
  return combined_to(tape, op, function, a, b, tape.shape(op.outputs[0]));
}

TensorId summed(GradientTape& tape, const Op& op, TensorId x, std::vector<std::int64_t> axes) {
  Shape shape = tape.shape(x);
  for (const std::int64_t axis : axes) shape[as_index(axis)] = 1;
  const ReduceAttributes attributes{.function = ReduceFunction::kSum, .axes = std::move(axes)};
  return tape.emit_one(op, OpKind::kReduce, attributes, {x}, shape);
}

// The dimensions of `whole` along which a tensor of shape `part` was repeated. Matched from the last.
std::vector<std::int64_t> repeated_axes(const Shape& part, const Shape& whole) {
  std::vector<std::int64_t> axes;
  const std::size_t missing = whole.size() - part.size();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const std::int64_t extent = i < missing ? 1 : part[i - missing];
    if (extent != whole[i]) axes.push_back(as_id<std::int64_t>(i));
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
    const ShapeAttributes attributes{tape.shape(to)};
    return tape.give_view(op, to, tape.emit_one(op, OpKind::kReshape, attributes, {gradient}, attributes.shape));
  }
  made ? tape.give(op, to, gradient) : tape.share(op, to, gradient);
}

// dy where `function` of its operands holds, else 0.
TensorId chosen(GradientTape& tape, const Op& op, TensorId dy, BinaryFunction function, TensorId a, TensorId b) {
  return combined(tape, op, BinaryFunction::kMultiply, dy, combined(tape, op, function, a, b));
}

// A zero for select's other side: no number is less than itself, and neither is NaN.
TensorId zero_beside(GradientTape& tape, const Op& op, TensorId x) {
  return combined_to(tape, op, BinaryFunction::kLess, x, x, tape.shape(x));
}

TensorId selected(GradientTape& tape, const Op& op, TensorId condition, TensorId a, TensorId b) {
  return tape.emit_one(op, OpKind::kSelect, {}, {condition, a, b}, tape.shape(op.outputs[0]));
}

// dy b a^(b - 1); 0 where b is 0, whatever a is.
TensorId power_to_base(GradientTape& tape, const Op& op, TensorId dy) {
  const auto [a, b] = std::pair(op.inputs[0], op.inputs[1]);
  const TensorId less = mapped(tape, op, b, UnaryFunction::kLinear, 1, -1);
  const TensorId slope = combined(tape, op, BinaryFunction::kPower, a, less);
  const TensorId gradient =
      combined(tape, op, BinaryFunction::kMultiply, combined(tape, op, BinaryFunction::kMultiply, dy, b), slope);
  return selected(tape, op, b, gradient, zero_beside(tape, op, b));
}

// dy y log a where a is above 0, else 0.
TensorId power_to_exponent(GradientTape& tape, const Op& op, TensorId dy) {
  const TensorId a = op.inputs[0];
  const TensorId zero = zero_beside(tape, op, a);
  const TensorId above = combined_to(tape, op, BinaryFunction::kLess, zero, a, tape.shape(a));
  const TensorId log = mapped(tape, op, a, UnaryFunction::kLog, 0);
  const TensorId gradient = combined(tape, op, BinaryFunction::kMultiply,
                                     combined(tape, op, BinaryFunction::kMultiply, dy, op.outputs[0]), log);
  return selected(tape, op, above, gradient, zero);
}

void differentiate_first(GradientTape& tape, const Op& op, TensorId dy) {
  const auto [a, b] = std::pair(op.inputs[0], op.inputs[1]);
  switch (op.as<BinaryAttributes>().function) {
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
  switch (op.as<BinaryAttributes>().function) {
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
  const TensorId count = summed(tape, op, largest, op.as<ReduceAttributes>().axes);
  const TensorId share = combined(tape, op, BinaryFunction::kDivide, dy, count);
  return combined_to(tape, op, BinaryFunction::kMultiply, largest, share, tape.shape(x));
}

}  // namespace

void differentiate_unary(GradientTape& tape, const Op& op, TensorId dy) {
  const TensorId x = op.inputs[0];
  if (!tape.needs(x)) return;
  const auto& attributes = op.as<UnaryAttributes>();
  if (attributes.function == UnaryFunction::kLinear) {
    if (attributes.alpha == 1) return tape.share(op, x, dy);
    return tape.give(op, x, scaled(tape, op, dy, attributes.alpha));
  }
  const TensorId kept = backward_reads_output(attributes.function) ? op.outputs[0] : x;
  tape.give(op, x, tape.emit_one(op, OpKind::kUnaryBackward, attributes, {kept, dy}, tape.shape(x)));
}

void differentiate_binary(GradientTape& tape, const Op& op, TensorId dy) {
  if (tape.needs(op.inputs[0])) differentiate_first(tape, op, dy);
  if (tape.needs(op.inputs[1])) differentiate_second(tape, op, dy);
}

void differentiate_select(GradientTape& tape, const Op& op, TensorId dy) {
  const auto [condition, a, b] = std::tuple(op.inputs[0], op.inputs[1], op.inputs[2]);
  if (!tape.needs(a) && !tape.needs(b)) return;
  const TensorId zero = zero_beside(tape, op, condition);
  if (tape.needs(a)) give_broadcast(tape, op, a, selected(tape, op, condition, dy, zero), true);
  if (tape.needs(b)) give_broadcast(tape, op, b, selected(tape, op, condition, zero, dy), true);
}

void differentiate_reduce(GradientTape& tape, const Op& op, TensorId dy) {
  const TensorId x = op.inputs[0];
  if (!tape.needs(x)) return;
  const Shape shape = tape.shape(x);
  const std::int64_t count = element_count(shape) / element_count(tape.shape(dy));
  if (count == 1) return tape.share(op, x, dy);
  if (op.as<ReduceAttributes>().function == ReduceFunction::kMaximum)
    return tape.give(op, x, maximum_shares(tape, op, dy));
  if (op.as<ReduceAttributes>().function == ReduceFunction::kMean)
    dy = scaled(tape, op, dy, 1 / static_cast<float>(count));
  tape.give(op, x, tape.emit_one(op, OpKind::kBroadcast, ShapeAttributes{shape}, {dy}, shape));
}

void differentiate_broadcast(GradientTape& tape, const Op& op, TensorId dy) {
  if (tape.needs(op.inputs[0])) give_broadcast(tape, op, op.inputs[0], dy, false);
}

}  // namespace sluice::graph
