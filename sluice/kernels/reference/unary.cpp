#include <algorithm>
#include <cmath>
#include <numbers>

#include "sluice/kernels/reference/reference_kernels.hpp"

namespace sluice::kernels {
namespace {

constexpr double kRootTwoOverPi = 0.7978845608028654;

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// The argument of kGeluTanh's tanh.
double gelu_argument(double x) { return kRootTwoOverPi * (x + 0.044715 * x * x * x); }

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

double trigonometric_value_at(graph::UnaryFunction function, double x) {
  switch (function) {
    case graph::UnaryFunction::kSin:
      return std::sin(x);
    case graph::UnaryFunction::kCos:
      return std::cos(x);
    case graph::UnaryFunction::kTan:
      return std::tan(x);
    case graph::UnaryFunction::kAsin:
      return std::asin(x);
    case graph::UnaryFunction::kAcos:
      return std::acos(x);
    case graph::UnaryFunction::kAtan:
      return std::atan(x);
    case graph::UnaryFunction::kSinh:
      return std::sinh(x);
    case graph::UnaryFunction::kCosh:
      return std::cosh(x);
    case graph::UnaryFunction::kAsinh:
      return std::asinh(x);
    case graph::UnaryFunction::kAtanh:
      return std::atanh(x);
    default:
      SLUICE_CHECK(false, "unknown unary function");
  }
}

double other_value_at(graph::UnaryFunction function, double x, double alpha, double beta) {
  switch (function) {
    case graph::UnaryFunction::kSoftplus:
      return softplus(x);
    case graph::UnaryFunction::kMish:
      return x * std::tanh(softplus(x));
    case graph::UnaryFunction::kSoftsign:
      return x / (1 + std::abs(x));
    case graph::UnaryFunction::kShrink:
      return x > alpha ? x - beta : x < -alpha ? x + beta : 0;
    case graph::UnaryFunction::kThreshold:
      return x > alpha ? x : 0;
    case graph::UnaryFunction::kSign:
      return x > 0 ? 1 : x < 0 ? -1 : x;
    case graph::UnaryFunction::kFloor:
      return std::floor(x);
    case graph::UnaryFunction::kCeil:
      return std::ceil(x);
    case graph::UnaryFunction::kRound:
      return std::nearbyint(x);
    case graph::UnaryFunction::kIsNan:
      return std::isnan(x) ? 1 : 0;
    case graph::UnaryFunction::kIsInfinite:
      return std::isinf(x) && (x > 0 ? beta : alpha) != 0 ? 1 : 0;
    default:
      return trigonometric_value_at(function, x);
  }
}

double value_at(graph::UnaryFunction function, double x, double alpha, double beta) {
  switch (function) {
    case graph::UnaryFunction::kLinear:
      return alpha * x + beta;
    case graph::UnaryFunction::kLeakyRelu:
      return x > 0 ? x : alpha * x;
    case graph::UnaryFunction::kClip:
      return std::min(std::max(x, alpha), beta);
    case graph::UnaryFunction::kElu:
      return x > 0 ? x : alpha * std::expm1(x);
    case graph::UnaryFunction::kSigmoid:
      return logistic(x);
    case graph::UnaryFunction::kTanh:
      return std::tanh(x);
    case graph::UnaryFunction::kSilu:
      return x * logistic(x);
    case graph::UnaryFunction::kHardSigmoid:
      return std::clamp(alpha * x + beta, 0.0, 1.0);
    case graph::UnaryFunction::kHardSwish:
      return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case graph::UnaryFunction::kGelu:
      return x / 2 * (1 + std::erf(x / std::numbers::sqrt2));
    case graph::UnaryFunction::kGeluTanh:
      return x / 2 * (1 + std::tanh(gelu_argument(x)));
    case graph::UnaryFunction::kErf:
      return std::erf(x);
    case graph::UnaryFunction::kExp:
      return std::exp(x);
    case graph::UnaryFunction::kLog:
      return std::log(x);
    case graph::UnaryFunction::kSqrt:
      return std::sqrt(x);
    case graph::UnaryFunction::kAbs:
      return std::abs(x);
    case graph::UnaryFunction::kPower:
      return std::pow(x, alpha);
    default:
      return other_value_at(function, x, alpha, beta);
  }
}

// The derivative where the output is y.
double slope_from_output(graph::UnaryFunction function, double y, double alpha, double beta) {
  switch (function) {
    case graph::UnaryFunction::kLeakyRelu:
      return y > 0 ? 1 : alpha;
    case graph::UnaryFunction::kClip:
      return y > alpha && y < beta ? 1 : 0;
    case graph::UnaryFunction::kElu:
      return y > 0 ? 1 : y + alpha;
    case graph::UnaryFunction::kSigmoid:
      return y * (1 - y);
    case graph::UnaryFunction::kTanh:
      return 1 - y * y;
    case graph::UnaryFunction::kHardSigmoid:
      return y > 0 && y < 1 ? alpha : 0;
    case graph::UnaryFunction::kExp:
      return y;
    case graph::UnaryFunction::kSqrt:
      return 0.5 / y;
    default:
      SLUICE_CHECK(false, "its backward op reads the input");
  }
}

double normal_density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }

double gelu_tanh_slope(double x) {
  const double tanh = std::tanh(gelu_argument(x));
  const double inner = kRootTwoOverPi * (1 + 3 * 0.044715 * x * x);
  return 0.5 * (1 + tanh) + x / 2 * (1 - tanh * tanh) * inner;
}

double trigonometric_slope(graph::UnaryFunction function, double x) {
  switch (function) {
    case graph::UnaryFunction::kSin:
      return std::cos(x);
    case graph::UnaryFunction::kCos:
      return -std::sin(x);
    case graph::UnaryFunction::kTan:
      return 1 + std::tan(x) * std::tan(x);
    case graph::UnaryFunction::kAsin:
      return 1 / std::sqrt(1 - x * x);
    case graph::UnaryFunction::kAcos:
      return -1 / std::sqrt(1 - x * x);
    case graph::UnaryFunction::kAtan:
      return 1 / (1 + x * x);
    case graph::UnaryFunction::kSinh:
      return std::cosh(x);
    case graph::UnaryFunction::kCosh:
      return std::sinh(x);
    case graph::UnaryFunction::kAsinh:
      return 1 / std::sqrt(x * x + 1);
    case graph::UnaryFunction::kAtanh:
      return 1 / (1 - x * x);
    default:
      SLUICE_CHECK(false, "its backward op reads the output, or there is none");
  }
}

double mish_slope(double x) {
  const double tanh = std::tanh(softplus(x));
  return tanh + x * (1 - tanh * tanh) * logistic(x);
}

double other_slope(graph::UnaryFunction function, double x, double alpha) {
  switch (function) {
    case graph::UnaryFunction::kSoftplus:
      return logistic(x);
    case graph::UnaryFunction::kMish:
      return mish_slope(x);
    case graph::UnaryFunction::kSoftsign:
      return 1 / ((1 + std::abs(x)) * (1 + std::abs(x)));
    case graph::UnaryFunction::kShrink:
      return std::abs(x) > alpha ? 1 : 0;
    case graph::UnaryFunction::kThreshold:
      return x > alpha ? 1 : 0;
    default:
      return trigonometric_slope(function, x);
  }
}

// The derivative where the input is x.
double slope_from_input(graph::UnaryFunction function, double x, double alpha) {
  switch (function) {
    case graph::UnaryFunction::kLinear:
      return alpha;
    case graph::UnaryFunction::kSilu:
      return logistic(x) * (1 + x * (1 - logistic(x)));
    case graph::UnaryFunction::kHardSwish:
      return x <= -3 ? 0 : x >= 3 ? 1 : x / 3 + 0.5;
    case graph::UnaryFunction::kGelu:
      return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)) + x * normal_density(x);
    case graph::UnaryFunction::kGeluTanh:
      return gelu_tanh_slope(x);
    case graph::UnaryFunction::kErf:
      return 2 / std::sqrt(std::numbers::pi) * std::exp(-x * x);
    case graph::UnaryFunction::kLog:
      return 1 / x;
    case graph::UnaryFunction::kAbs:
      return x > 0 ? 1 : x < 0 ? -1 : 0;
    case graph::UnaryFunction::kPower:
      return alpha * std::pow(x, alpha - 1);
    default:
      return other_slope(function, x, alpha);
  }
}

void unary(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto y = call.output<float>(0);
  const graph::UnaryAttributes& attributes = call.as<graph::UnaryAttributes>();
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = static_cast<float>(value_at(attributes.function, x[i], attributes.alpha, attributes.beta));
}

void unary_backward(const ReferenceCall& call) {
  const auto saved = call.input<float>(0);
  const auto dy = call.input<float>(1);
  const auto dx = call.output<float>(0);
  const graph::UnaryAttributes& attributes = call.as<graph::UnaryAttributes>();
  for (std::size_t i = 0; i < dx.size(); ++i) {
    const double slope = graph::backward_reads_output(attributes.function)
                             ? slope_from_output(attributes.function, saved[i], attributes.alpha, attributes.beta)
                             : slope_from_input(attributes.function, saved[i], attributes.alpha);
    dx[i] = static_cast<float>(dy[i] * slope);
  }
}

}  // namespace

SLUICE_REFERENCE_KERNEL(kUnary, unary)
SLUICE_REFERENCE_KERNEL(kUnaryBackward, unary_backward)

}  // namespace sluice::kernels
