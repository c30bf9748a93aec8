#include "sluice/testing/op_cases/case_builder.hpp"

namespace sluice {
namespace {

OpCase relu_case(const Shape& shape) {
  CaseBuilder builder("relu " + to_string(shape));
  const TensorId y = builder.tensor("y", shape);
  builder.op(OpKind::kRelu, {}, {builder.tensor("x", shape)}, {y});
  builder.op(OpKind::kReluBackward, {}, {y, builder.gradient("dy", shape)}, {builder.gradient("dx", shape)});
  builder.claim({"y", "dy", "x", "dx"});
  return builder.finish();
}

OpCase add_case(const Shape& shape, Activation activation) {
  CaseBuilder builder("add " + to_string(shape) +
                      (activation == Activation::kNone   ? ""
                       : activation == Activation::kRelu ? " relu"
                                                         : " relu6"));
  const TensorId a = builder.scaled(builder.tensor("a", shape), 3);
  const TensorId b = builder.scaled(builder.tensor("b", shape), 3);
  builder.op(OpKind::kAdd, {.activation = activation}, {a, b}, {builder.tensor("y", shape)});
  return builder.finish();
}

struct FunctionValues {
  UnaryFunction function;
  float alpha = 0, beta = 0, spread = 1;
};

OpCase unary_case(const FunctionValues& f, const Shape& shape) {
  CaseBuilder builder("unary " + std::string(to_string(f.function)) + " " + to_string(shape));
  const Attributes attributes{.unary = f.function, .alpha = f.alpha, .beta = f.beta};
  const TensorId x = builder.scaled(builder.tensor("x", shape), f.spread);
  const TensorId y = builder.tensor("y", shape);
  builder.op(OpKind::kUnary, attributes, {x}, {y});
  if (is_flat(f.function)) return builder.finish();
  builder.op(OpKind::kUnaryBackward, attributes,
             {backward_reads_output(f.function) ? y : x, builder.gradient("dy", shape)},
             {builder.gradient("dx", shape)});
  builder.claim({"y", "dy", "x", "dx"});
  return builder.finish();
}

const std::vector<FunctionValues> kFunctions = {
    {UnaryFunction::kLinear, -1.5F, 0.25F},
    {UnaryFunction::kLeakyRelu, 0.2F},
    {UnaryFunction::kClip, 0, 6, 5},
    {UnaryFunction::kElu, 0.7F},
    {UnaryFunction::kSigmoid, 0, 0, 2},
    {UnaryFunction::kTanh},
    {UnaryFunction::kSilu, 0, 0, 2},
    {UnaryFunction::kHardSigmoid, 1.0F / 6, 0.5F, 3},
    {UnaryFunction::kHardSwish, 0, 0, 3},
    {UnaryFunction::kGelu},
    {UnaryFunction::kGeluTanh},
    {UnaryFunction::kErf},
    {UnaryFunction::kExp},
    {UnaryFunction::kLog},
    {UnaryFunction::kSqrt},
    {UnaryFunction::kAbs},
    {UnaryFunction::kPower, 2.5F},
    {UnaryFunction::kSoftplus, 0, 0, 4},
    {UnaryFunction::kMish, 0, 0, 3},
    {UnaryFunction::kSoftsign},
    {UnaryFunction::kShrink, 0.5F, 0.25F},
    {UnaryFunction::kThreshold, 0.3F},
    {UnaryFunction::kSin, 0, 0, 2},
    {UnaryFunction::kCos, 0, 0, 2},
    {UnaryFunction::kTan, 0, 0, 0.3F},
    {UnaryFunction::kAsin, 0, 0, 0.2F},
    {UnaryFunction::kAcos, 0, 0, 0.2F},
    {UnaryFunction::kAtan, 0, 0, 2},
    {UnaryFunction::kSinh},
    {UnaryFunction::kCosh},
    {UnaryFunction::kAsinh, 0, 0, 2},
    {UnaryFunction::kAtanh, 0, 0, 0.2F},
    {UnaryFunction::kSign},
    {UnaryFunction::kFloor, 0, 0, 3},
    {UnaryFunction::kCeil, 0, 0, 3},
    {UnaryFunction::kRound, 0, 0, 3},
    {UnaryFunction::kIsNan},
    {UnaryFunction::kIsInfinite, 1, 1},
};

std::string_view name_of(BinaryFunction function) {
  switch (function) {
    case BinaryFunction::kAdd:
      return "add";
    case BinaryFunction::kSubtract:
      return "subtract";
    case BinaryFunction::kMultiply:
      return "multiply";
    case BinaryFunction::kDivide:
      return "divide";
    case BinaryFunction::kMaximum:
      return "maximum";
    case BinaryFunction::kMinimum:
      return "minimum";
    case BinaryFunction::kPower:
      return "power";
    case BinaryFunction::kModulo:
      return "modulo";
    case BinaryFunction::kRemainder:
      return "remainder";
    case BinaryFunction::kEqual:
      return "equal";
    case BinaryFunction::kLess:
      return "less";
    case BinaryFunction::kLessOrEqual:
      return "less_or_equal";
  }
  return "unknown";
}

OpCase binary_case(BinaryFunction function, const Shape& a, const Shape& b, const Shape& y) {
  CaseBuilder builder("binary " + std::string(name_of(function)) + " " + to_string(a) + " and " + to_string(b));
  builder.op(OpKind::kBinary, {.binary = function}, {builder.tensor("a", a), builder.tensor("b", b)},
             {builder.tensor("y", y)});
  return builder.finish();
}

void add_binary_cases(std::vector<OpCase>& cases) {
  using enum BinaryFunction;
  for (const BinaryFunction function : {kMaximum, kMinimum, kPower, kModulo, kRemainder, kEqual, kLess, kLessOrEqual}) {
    cases.push_back(binary_case(function, {3, 5, 7}, {3, 5, 7}, {3, 5, 7}));
    cases.push_back(binary_case(function, {4, 1, 6}, {1, 5, 1}, {4, 5, 6}));
  }
  for (const BinaryFunction function : {kAdd, kSubtract, kMultiply, kDivide}) {
    cases.push_back(binary_case(function, {3, 5, 7}, {3, 5, 7}, {3, 5, 7}));
    cases.push_back(binary_case(function, {2, 6, 16}, {1, 6, 16}, {2, 6, 16}));
    cases.push_back(binary_case(function, {1, 20}, {9, 20}, {9, 20}));
    cases.push_back(binary_case(function, {2, 4, 10}, {1, 1, 1}, {2, 4, 10}));
    cases.push_back(binary_case(function, {2, 16, 5, 5}, {2, 16, 1, 1}, {2, 16, 5, 5}));
    cases.push_back(binary_case(function, {4, 1, 6}, {1, 5, 1}, {4, 5, 6}));
    cases.push_back(binary_case(function, {2, 4, 6}, {6}, {2, 4, 6}));
    cases.push_back(binary_case(function, {3, 5, 16}, {5, 16}, {3, 5, 16}));
    cases.push_back(binary_case(function, {5, 8}, {3, 5, 8}, {3, 5, 8}));
  }
}

// The condition is 0 for about half of the elements.
OpCase select_case(const Shape& condition, const Shape& a, const Shape& b, const Shape& y) {
  CaseBuilder builder("select by " + to_string(condition) + " of " + to_string(a) + " and " + to_string(b));
  const TensorId zero = builder.constant(builder.tensor("zero", {1}), 0);
  const TensorId chosen = builder.tensor("chosen", condition);
  builder.op(OpKind::kBinary, {.binary = BinaryFunction::kLess}, {builder.tensor("c", condition), zero}, {chosen});
  builder.op(OpKind::kSelect, {}, {chosen, builder.tensor("a", a), builder.tensor("b", b)}, {builder.tensor("y", y)});
  return builder.finish();
}

void add_select_cases(std::vector<OpCase>& cases) {
  cases.push_back(select_case({3, 5, 7}, {3, 5, 7}, {3, 5, 7}, {3, 5, 7}));
  cases.push_back(select_case({5, 7}, {3, 5, 7}, {1}, {3, 5, 7}));
  cases.push_back(select_case({3, 1, 7}, {1}, {3, 5, 7}, {3, 5, 7}));
  cases.push_back(select_case({3, 5, 1}, {3, 5, 7}, {7}, {3, 5, 7}));
  cases.push_back(select_case({4, 1, 6}, {1, 5, 1}, {6}, {4, 5, 6}));
  cases.push_back(select_case({2, 16, 5, 5}, {2, 16, 5, 5}, {2, 16, 1, 1}, {2, 16, 5, 5}));
  cases.push_back(select_case({1, 1, 5, 5}, {2, 16, 5, 5}, {2, 16, 5, 5}, {2, 16, 5, 5}));
  cases.push_back(select_case({9000}, {9000}, {1}, {9000}));
}

// A sum or mean, and broadcasting its gradient back.
OpCase reduce_case(ReduceFunction function, const Shape& x_shape, const std::vector<std::int64_t>& axes) {
  const bool mean = function == ReduceFunction::kMean;
  CaseBuilder builder(std::string(mean ? "mean of " : "sum of ") + to_string(x_shape) + " over " + to_string(axes));
  Shape y_shape = x_shape;
  for (const std::int64_t axis : axes) y_shape[static_cast<std::size_t>(axis)] = 1;
  builder.op(OpKind::kReduce, {.reduce = function, .axes = axes}, {builder.tensor("x", x_shape)},
             {builder.tensor("y", y_shape)});
  const TensorId dx = builder.gradient("dx", x_shape);
  builder.op(OpKind::kBroadcast, {.shape = x_shape}, {builder.gradient("dy", y_shape)}, {dx});
  if (!mean) builder.claim({"y", "dy", "x", "dx"});
  return builder.finish();
}

void add_reduce_cases(std::vector<OpCase>& cases) {
  for (const ReduceFunction function : {ReduceFunction::kSum, ReduceFunction::kMean}) {
    cases.push_back(reduce_case(function, {4, 10}, {0}));
    cases.push_back(reduce_case(function, {3, 5, 16}, {0}));
    cases.push_back(reduce_case(function, {3, 5, 16}, {0, 1}));
    cases.push_back(reduce_case(function, {3, 5, 7}, {2}));
    cases.push_back(reduce_case(function, {2, 16, 5, 5}, {2, 3}));
    cases.push_back(reduce_case(function, {2, 6, 3, 4}, {0, 2}));
    cases.push_back(reduce_case(function, {3, 4}, {0, 1}));
  }
}

OpCase maximum_case(const Shape& x_shape, const std::vector<std::int64_t>& axes) {
  CaseBuilder builder("maximum of " + to_string(x_shape) + " over " + to_string(axes));
  Shape y_shape = x_shape;
  for (const std::int64_t axis : axes) y_shape[static_cast<std::size_t>(axis)] = 1;
  builder.op(OpKind::kReduce, {.reduce = ReduceFunction::kMaximum, .axes = axes}, {builder.tensor("x", x_shape)},
             {builder.tensor("y", y_shape)});
  return builder.finish();
}

void add_maximum_cases(std::vector<OpCase>& cases) {
  cases.push_back(maximum_case({4, 10}, {0}));
  cases.push_back(maximum_case({3, 5, 700}, {2}));
  cases.push_back(maximum_case({3, 5, 16}, {0, 1}));
  cases.push_back(maximum_case({2, 6, 3, 4}, {0, 2}));
  cases.push_back(maximum_case({2, 16, 5, 5}, {2, 3}));
  cases.push_back(maximum_case({3, 4}, {0, 1}));
}

// Forward and backward with one stream and step: the same elements are dropped.
OpCase dropout_case(const Shape& shape, float rate) {
  CaseBuilder builder("dropout " + to_string(shape) + " rate " + std::to_string(static_cast<int>(100 * rate)));
  const Attributes attributes{.rate = rate, .stream = 12345};
  builder.op(OpKind::kDropout, attributes, {builder.tensor("x", shape)}, {builder.tensor("y", shape)});
  builder.op(OpKind::kDropout, attributes, {builder.gradient("dy", shape)}, {builder.gradient("dx", shape)});
  builder.claim({"y", "dy", "x", "dx"});
  return builder.finish();
}

}  // namespace

void add_elementwise_cases(std::vector<OpCase>& cases) {
  for (const Shape& shape :
       {Shape{4, 16, 5, 5}, Shape{1, 32, 7, 3}, Shape{4, 10, 6, 6}, Shape{2, 7, 20}, Shape{5, 33}}) {
    for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kRelu6})
      cases.push_back(add_case(shape, activation));
    cases.push_back(relu_case(shape));
  }
  for (const FunctionValues& function : kFunctions) {
    cases.push_back(unary_case(function, {3, 7, 5}));
    cases.push_back(unary_case(function, {2, 16, 4, 4}));
  }
  add_binary_cases(cases);
  add_select_cases(cases);
  add_reduce_cases(cases);
  add_maximum_cases(cases);
  cases.push_back(dropout_case({4, 10, 3, 3}, 0.5F));
  cases.push_back(dropout_case({3, 7, 11}, 0.1F));
}

}  // namespace sluice
