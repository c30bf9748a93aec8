// The functions and windows that ops are told (attributes.hpp).
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::graph {

enum class Activation { kNone, kRelu, kRelu6 };

// alpha and beta are those of UnaryAttributes.
enum class UnaryFunction {
  kLinear,       // alpha x + beta
  kLeakyRelu,    // x above 0, alpha x below
  kClip,         // min(max(x, alpha), beta); ReLU6 is alpha 0, beta 6
  kElu,          // x above 0, alpha (exp x - 1) below
  kSigmoid,      // 1 / (1 + exp -x)
  kTanh,         //
  kSilu,         // x sigmoid(x)
  kHardSigmoid,  // min(max(alpha x + beta, 0), 1)
  kHardSwish,    // x min(max(x / 6 + 1/2, 0), 1)
  kGelu,         // x / 2 (1 + erf(x / sqrt 2))
  kGeluTanh,     // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  kErf,          //
  kExp,          //
  kLog,          //
  kSqrt,         //
  kAbs,          //
  kPower,        // x^alpha
  kSoftplus,     // log(1 + exp x)
  kMish,         // x tanh(log(1 + exp x))
  kSoftsign,     // x / (1 + |x|)
  kShrink,       // x - beta above alpha, x + beta below -alpha, 0 between
  kThreshold,    // x above alpha, 0 below
  kSin,          //
  kCos,          //
  kTan,          //
  kAsin,         //
  kAcos,         //
  kAtan,         //
  kSinh,         //
  kCosh,         //
  kAsinh,        //
  kAtanh,        //
  kSign,         // the rest are flat: they have no gradient
  kFloor,        //
  kCeil,         //
  kRound,        // to the nearest, ties to even
  kIsNan,        // 1 or 0
  kIsInfinite,   // 1 or 0; alpha, beta: whether below, above zero counts
};
inline constexpr UnaryFunction kLastUnaryFunction = UnaryFunction::kIsInfinite;

// Flat almost everywhere: nothing passes a gradient on.
constexpr bool is_flat(UnaryFunction function) { return function >= UnaryFunction::kSign; }

enum class BinaryFunction {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kMaximum,      // of equal ones the first has the gradient
  kMinimum,      // the same
  kPower,        // a^b; d/da is 0 where b is 0, d/db where a is not above 0
  kModulo,       // a - b floor(a / b): has b's sign
  kRemainder,    // a - b trunc(a / b): has a's sign
  kEqual,        // from here on 1 or 0, without a gradient
  kLess,         //
  kLessOrEqual,  //
};
constexpr bool is_comparison(BinaryFunction function) { return function >= BinaryFunction::kEqual; }

enum class ReduceFunction {
  kSum,
  kMean,
  kMaximum,  // equal ones share the gradient
};

// Whether kUnaryBackward's first operand is the forward op's output (else its input).
constexpr bool backward_reads_output(UnaryFunction function) {
  switch (function) {
    case UnaryFunction::kLeakyRelu:
    case UnaryFunction::kClip:
    case UnaryFunction::kElu:
    case UnaryFunction::kSigmoid:
    case UnaryFunction::kTanh:
    case UnaryFunction::kHardSigmoid:
    case UnaryFunction::kExp:
    case UnaryFunction::kSqrt:
      return true;
    default:
      return false;
  }
}

// Where a convolution's or pooling's kernel looks.
struct Window {
  std::int64_t kernel_h = 0, kernel_w = 0;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t dilation_h = 1, dilation_w = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  bool operator==(const Window&) const = default;
};

constexpr Window square_window(std::int64_t kernel, std::int64_t stride = 1, std::int64_t padding = 0) {
  return {.kernel_h = kernel,
          .kernel_w = kernel,
          .stride_h = stride,
          .stride_w = stride,
          .pad_top = padding,
          .pad_left = padding,
          .pad_bottom = padding,
          .pad_right = padding};
}

std::string_view to_string(UnaryFunction function);  // "leaky_relu"

}  // namespace sluice::graph
