#include <algorithm>
#include <cmath>
#include <limits>

#include "sluice/kernels/dropout.hpp"
#include "sluice/kernels/reference/index_space.hpp"
#include "sluice/kernels/reference/reference_kernels.hpp"

namespace sluice::kernels {

double activate(graph::Activation activation, double value) {
  switch (activation) {
    case graph::Activation::kNone:
      return value;
    case graph::Activation::kRelu:
      return std::max(value, 0.0);
    case graph::Activation::kRelu6:
      return std::clamp(value, 0.0, 6.0);
  }
  SLUICE_CHECK(false, "unknown activation");
}

bool passes(graph::Activation activation, double value) {
  if (activation == graph::Activation::kNone) return true;
  return value > 0 && (activation == graph::Activation::kRelu || value < 6);
}

namespace {

// What is left of a has b's sign.
double modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

double combine(graph::BinaryFunction function, double a, double b) {
  switch (function) {
    case graph::BinaryFunction::kAdd:
      return a + b;
    case graph::BinaryFunction::kSubtract:
      return a - b;
    case graph::BinaryFunction::kMultiply:
      return a * b;
    case graph::BinaryFunction::kDivide:
      return a / b;
    case graph::BinaryFunction::kMaximum:
      return a > b || std::isnan(a) ? a : b;
    case graph::BinaryFunction::kMinimum:
      return a < b || std::isnan(a) ? a : b;
    case graph::BinaryFunction::kPower:
      return std::pow(a, b);
    case graph::BinaryFunction::kModulo:
      return modulo(a, b);
    case graph::BinaryFunction::kRemainder:
      return std::fmod(a, b);
    case graph::BinaryFunction::kEqual:
      return a == b ? 1 : 0;
    case graph::BinaryFunction::kLess:
      return a < b ? 1 : 0;
    case graph::BinaryFunction::kLessOrEqual:
      return a <= b ? 1 : 0;
  }
  SLUICE_CHECK(false, "unknown binary function");
}

void relu(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto y = call.output<float>(0);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::max(x[i], 0.0F);
}

void relu_backward(const ReferenceCall& call) {
  const auto y = call.input<float>(0);
  const auto dy = call.input<float>(1);
  const auto dx = call.output<float>(0);
  for (std::size_t i = 0; i < dx.size(); ++i) dx[i] = y[i] > 0 ? dy[i] : 0.0F;
}

void add(const ReferenceCall& call) {
  const auto a = call.input<float>(0);
  const auto b = call.input<float>(1);
  const auto y = call.output<float>(0);
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = static_cast<float>(activate(call.as<graph::AddAttributes>().activation, a[i] + b[i]));
}

void binary(const ReferenceCall& call) {
  const auto a = call.input<float>(0);
  const auto b = call.input<float>(1);
  const auto y = call.output<float>(0);
  for_each_index(call.output_shape(0), [&](const graph::Shape& index, std::size_t i) {
    y[i] = static_cast<float>(combine(call.as<graph::BinaryAttributes>().function,
                                      a[broadcast_offset(call.input_shape(0), index)],
                                      b[broadcast_offset(call.input_shape(1), index)]));
  });
}

void select(const ReferenceCall& call) {
  const auto condition = call.input<float>(0);
  const auto a = call.input<float>(1);
  const auto b = call.input<float>(2);
  const auto y = call.output<float>(0);
  for_each_index(call.output_shape(0), [&](const graph::Shape& index, std::size_t i) {
    const bool first = condition[broadcast_offset(call.input_shape(0), index)] != 0;
    y[i] = first ? a[broadcast_offset(call.input_shape(1), index)] : b[broadcast_offset(call.input_shape(2), index)];
  });
}

void largest(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto y = call.output<float>(0);
  std::fill(y.begin(), y.end(), -std::numeric_limits<float>::infinity());
  for_each_index(call.input_shape(0), [&](const graph::Shape& index, std::size_t i) {
    float& result = y[broadcast_offset(call.output_shape(0), index)];
    result = result > x[i] || std::isnan(result) ? result : x[i];
  });
}

void reduce(const ReferenceCall& call) {
  if (call.as<graph::ReduceAttributes>().function == graph::ReduceFunction::kMaximum) return largest(call);
  const auto x = call.input<float>(0);
  const auto y = call.output<float>(0);
  std::vector<double> sums(y.size(), 0.0);
  for_each_index(call.input_shape(0), [&](const graph::Shape& index, std::size_t i) {
    sums[broadcast_offset(call.output_shape(0), index)] += x[i];
  });
  const bool mean = call.as<graph::ReduceAttributes>().function == graph::ReduceFunction::kMean;
  const double divisor = mean ? static_cast<double>(x.size()) / static_cast<double>(y.size()) : 1.0;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(sums[i] / divisor);
}

void broadcast(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto y = call.output<float>(0);
  for_each_index(call.output_shape(0), [&](const graph::Shape& index, std::size_t i) {
    y[i] = x[broadcast_offset(call.input_shape(0), index)];
  });
}

void dropout(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto y = call.output<float>(0);
  const DropoutDraws draws(call.context().seed, stream_of_dropout(call.as<graph::DropoutAttributes>(), call.context()),
                           call.context().step, call.as<graph::DropoutAttributes>().rate);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = draws.keeps(i) ? x[i] * draws.scale() : 0.0F;
}

}  // namespace

SLUICE_REFERENCE_KERNEL(kRelu, relu)
SLUICE_REFERENCE_KERNEL(kReluBackward, relu_backward)
SLUICE_REFERENCE_KERNEL(kAdd, add)
SLUICE_REFERENCE_KERNEL(kBinary, binary)
SLUICE_REFERENCE_KERNEL(kReduce, reduce)
SLUICE_REFERENCE_KERNEL(kBroadcast, broadcast)
SLUICE_REFERENCE_KERNEL(kDropout, dropout)
SLUICE_REFERENCE_KERNEL(kSelect, select)

}  // namespace sluice::kernels
