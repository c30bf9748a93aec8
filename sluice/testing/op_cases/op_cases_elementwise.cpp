#include "sluice/base/as_index.hpp"
#include "sluice/testing/op_cases/case_builder.hpp"

namespace sluice::testing {
namespace {

OpCase relu_case(const graph::Shape& shape) {
  CaseBuilder builder("relu " + graph::to_string(shape));
  const graph::TensorId y = builder.tensor("y", shape);
  builder.op(graph::OpKind::kRelu, {}, {builder.tensor("x", shape)}, {y});
  builder.op(graph::OpKind::kReluBackward, {}, {y, builder.gradient("dy", shape)}, {builder.gradient("dx", shape)});
  builder.claim({"y", "dy", "x", "dx"});
  return builder.finish();
}

OpCase add_case(const graph::Shape& shape, graph::Activation activation) {
  CaseBuilder builder("add " + graph::to_string(shape) +
                      (activation == graph::Activation::kNone   ? ""
                       : activation == graph::Activation::kRelu ? " relu"
                                                                : " relu6"));
  const graph::TensorId a = builder.scaled(builder.tensor("a", shape), 3);
  const graph::TensorId b = builder.scaled(builder.tensor("b", shape), 3);
  builder.op(graph::OpKind::kAdd, graph::AddAttributes{.activation = activation}, {a, b}, {builder.tensor("y", shape)});
  return builder.finish();
}

struct FunctionValues {
  graph::UnaryFunction function;
  float alpha = 0, beta = 0, spread = 1;
};

OpCase unary_case(const FunctionValues& f, const graph::Shape& shape) {
  CaseBuilder builder("unary " + std::string(to_string(f.function)) + " " + graph::to_string(shape));
  const graph::UnaryAttributes attributes{.function = f.function, .alpha = f.alpha, .beta = f.beta};
  const graph::TensorId x = builder.scaled(builder.tensor("x", shape), f.spread);
  const graph::TensorId y = builder.tensor("y", shape);
  builder.op(graph::OpKind::kUnary, attributes, {x}, {y});
  if (graph::is_flat(f.function)) return builder.finish();
  builder.op(graph::OpKind::kUnaryBackward, attributes,
             {graph::backward_reads_output(f.function) ? y : x, builder.gradient("dy", shape)},
             {builder.gradient("dx", shape)});
  builder.claim({"y", "dy", "x", "dx"});
  return builder.finish();
}

const std::vector<FunctionValues> kFunctions = {
    {graph::UnaryFunction::kLinear, -1.5F, 0.25F},
    {graph::UnaryFunction::kLeakyRelu, 0.2F},
    {graph::UnaryFunction::kClip, 0, 6, 5},
    {graph::UnaryFunction::kElu, 0.7F},
    {graph::UnaryFunction::kSigmoid, 0, 0, 2},
    {graph::UnaryFunction::kTanh},
    {graph::UnaryFunction::kSilu, 0, 0, 2},
    {graph::UnaryFunction::kHardSigmoid, 1.0F / 6, 0.5F, 3},
    {graph::UnaryFunction::kHardSwish, 0, 0, 3},
    {graph::UnaryFunction::kGelu},
    {graph::UnaryFunction::kGeluTanh},
    {graph::UnaryFunction::kErf},
    {graph::UnaryFunction::kExp},
    {graph::UnaryFunction::kLog},
    {graph::UnaryFunction::kSqrt},
    {graph::UnaryFunction::kAbs},
    {graph::UnaryFunction::kPower, 2.5F},
    {graph::UnaryFunction::kSoftplus, 0, 0, 4},
    {graph::UnaryFunction::kMish, 0, 0, 3},
    {graph::UnaryFunction::kSoftsign},
    {graph::UnaryFunction::kShrink, 0.5F, 0.25F},
    {graph::UnaryFunction::kThreshold, 0.3F},
    {graph::UnaryFunction::kSin, 0, 0, 2},
    {graph::UnaryFunction::kCos, 0, 0, 2},
    {graph::UnaryFunction::kTan, 0, 0, 0.3F},
    {graph::UnaryFunction::kAsin, 0, 0, 0.2F},
    {graph::UnaryFunction::kAcos, 0, 0, 0.2F},
    {graph::UnaryFunction::kAtan, 0, 0, 2},
    {graph::UnaryFunction::kSinh},
    {graph::UnaryFunction::kCosh},
    {graph::UnaryFunction::kAsinh, 0, 0, 2},
    {graph::UnaryFunction::kAtanh, 0, 0, 0.2F},
    {graph::UnaryFunction::kSign},
    {graph::UnaryFunction::kFloor, 0, 0, 3},
    {graph::UnaryFunction::kCeil, 0, 0, 3},
    {graph::UnaryFunction::kRound, 0, 0, 3},
    {graph::UnaryFunction::kIsNan},
    {graph::UnaryFunction::kIsInfinite, 1, 1},
};

std::string_view name_of(graph::BinaryFunction function) {
  switch (function) {
    case graph::BinaryFunction::kAdd:
      return "add";
    case graph::BinaryFunction::kSubtract:
      return "subtract";
    case graph::BinaryFunction::kMultiply:
      return "multiply";
    case graph::BinaryFunction::kDivide:
      return "divide";
    case graph::BinaryFunction::kMaximum:
      return "maximum";
    case graph::BinaryFunction::kMinimum:
      return "minimum";
    case graph::BinaryFunction::kPower:
      return "power";
    case graph::BinaryFunction::kModulo:
      return "modulo";
    case graph::BinaryFunction::kRemainder:
      return "remainder";
    case graph::BinaryFunction::kEqual:
      return "equal";
    case graph::BinaryFunction::kLess:
      return "less";
    case graph::BinaryFunction::kLessOrEqual:
      return "less_or_equal";
  }
  return "unknown";
}

OpCase binary_case(graph::BinaryFunction function, const graph::Shape& a, const graph::Shape& b,
                   const graph::Shape& y) {
  CaseBuilder builder("binary " + std::string(name_of(function)) + " " + graph::to_string(a) + " and " +
                      graph::to_string(b));
  builder.op(graph::OpKind::kBinary, graph::BinaryAttributes{.function = function},
             {builder.tensor("a", a), builder.tensor("b", b)}, {builder.tensor("y", y)});
  return builder.finish();
}

void add_binary_cases(std::vector<OpCase>& cases) {
  using enum graph::BinaryFunction;
  for (const graph::BinaryFunction function :
       {kMaximum, kMinimum, kPower, kModulo, kRemainder, kEqual, kLess, kLessOrEqual}) {
    cases.push_back(binary_case(function, {3, 5, 7}, {3, 5, 7}, {3, 5, 7}));
    cases.push_back(binary_case(function, {4, 1, 6}, {1, 5, 1}, {4, 5, 6}));
  }
  for (const graph::BinaryFunction function : {kAdd, kSubtract, kMultiply, kDivide}) {
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
OpCase select_case(const graph::Shape& condition, const graph::Shape& a, const graph::Shape& b, const graph::Shape& y) {
  CaseBuilder builder("select by " + graph::to_string(condition) + " of " + graph::to_string(a) + " and " +
                      graph::to_string(b));
  const graph::TensorId zero = builder.constant(builder.tensor("zero", {1}), 0);
  const graph::TensorId chosen = builder.tensor("chosen", condition);
  builder.op(graph::OpKind::kBinary, graph::BinaryAttributes{.function = graph::BinaryFunction::kLess},
             {builder.tensor("c", condition), zero}, {chosen});
  builder.op(graph::OpKind::kSelect, {}, {chosen, builder.tensor("a", a), builder.tensor("b", b)},
             {builder.tensor("y", y)});
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
OpCase reduce_case(graph::ReduceFunction function, const graph::Shape& x_shape, const std::vector<std::int64_t>& axes) {
  const bool mean = function == graph::ReduceFunction::kMean;
  CaseBuilder builder(std::string(mean ? "mean of " : "sum of ") + graph::to_string(x_shape) + " over " +
                      graph::to_string(axes));
  graph::Shape y_shape = x_shape;
  for (const std::int64_t axis : axes) y_shape[as_index(axis)] = 1;
  builder.op(graph::OpKind::kReduce, graph::ReduceAttributes{.function = function, .axes = axes},
             {builder.tensor("x", x_shape)}, {builder.tensor("y", y_shape)});
  const graph::TensorId dx = builder.gradient("dx", x_shape);
  builder.op(graph::OpKind::kBroadcast, graph::ShapeAttributes{.shape = x_shape}, {builder.gradient("dy", y_shape)},
             {dx});
  if (!mean) builder.claim({"y", "dy", "x", "dx"});
  return builder.finish();
}

void add_reduce_cases(std::vector<OpCase>& cases) {
  for (const graph::ReduceFunction function : {graph::ReduceFunction::kSum, graph::ReduceFunction::kMean}) {
    cases.push_back(reduce_case(function, {4, 10}, {0}));
    cases.push_back(reduce_case(function, {3, 5, 16}, {0}));
    cases.push_back(reduce_case(function, {3, 5, 16}, {0, 1}));
    cases.push_back(reduce_case(function, {3, 5, 7}, {2}));
    cases.push_back(reduce_case(function, {2, 16, 5, 5}, {2, 3}));
    cases.push_back(reduce_case(function, {2, 6, 3, 4}, {0, 2}));
    cases.push_back(reduce_case(function, {3, 4}, {0, 1}));
  }
}

OpCase maximum_case(const graph::Shape& x_shape, const std::vector<std::int64_t>& axes) {
  CaseBuilder builder("maximum of " + graph::to_string(x_shape) + " over " + graph::to_string(axes));
  graph::Shape y_shape = x_shape;
  for (const std::int64_t axis : axes) y_shape[as_index(axis)] = 1;
  builder.op(graph::OpKind::kReduce, graph::ReduceAttributes{.function = graph::ReduceFunction::kMaximum, .axes = axes},
             {builder.tensor("x", x_shape)}, {builder.tensor("y", y_shape)});
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
OpCase dropout_case(const graph::Shape& shape, float rate) {
  CaseBuilder builder("dropout " + graph::to_string(shape) + " rate " + std::to_string(static_cast<int>(100 * rate)));
  const graph::DropoutAttributes attributes{.rate = rate, .stream = 12345};
  builder.op(graph::OpKind::kDropout, attributes, {builder.tensor("x", shape)}, {builder.tensor("y", shape)});
  builder.op(graph::OpKind::kDropout, attributes, {builder.gradient("dy", shape)}, {builder.gradient("dx", shape)});
  builder.claim({"y", "dy", "x", "dx"});
  return builder.finish();
}

}  // namespace

void add_elementwise_cases(std::vector<OpCase>& cases) {
  for (const graph::Shape& shape : {graph::Shape{4, 16, 5, 5}, graph::Shape{1, 32, 7, 3}, graph::Shape{4, 10, 6, 6},
                                    graph::Shape{2, 7, 20}, graph::Shape{5, 33}}) {
    for (const graph::Activation activation :
         {graph::Activation::kNone, graph::Activation::kRelu, graph::Activation::kRelu6})
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

}  // namespace sluice::testing
