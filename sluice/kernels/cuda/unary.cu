// Functions of one element and their derivatives.
#include "sluice/kernels/cuda/cuda_kernels.hpp"
#include "sluice/kernels/cuda/groups.cuh"

namespace sluice::kernels::cuda {
namespace {

constexpr float kRootTwoOverPi = 0.7978845608028654F;
constexpr float kTwoOverRootPi = 1.1283791670955126F;
constexpr float kOneOverRootTwoPi = 0.3989422804014327F;

// Comparisons instead of fminf and fmaxf, which would make a number of NaN.
__device__ float clip(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

__device__ float logistic(float x) { return 1 / (1 + expf(-x)); }

// The argument of kGeluTanh's tanh.
__device__ float gelu_argument(float x) { return kRootTwoOverPi * (x + 0.044715F * x * x * x); }

__device__ float softplus(float x) { return fmaxf(x, 0) + log1pf(expf(-fabsf(x))); }

__device__ float trigonometric_value_at(graph::UnaryFunction function, float x) {
  switch (function) {
    case graph::UnaryFunction::kSin:
      return sinf(x);
    case graph::UnaryFunction::kCos:
      return cosf(x);
    case graph::UnaryFunction::kTan:
      return tanf(x);
    case graph::UnaryFunction::kAsin:
      return asinf(x);
    case graph::UnaryFunction::kAcos:
      return acosf(x);
    case graph::UnaryFunction::kAtan:
      return atanf(x);
    case graph::UnaryFunction::kSinh:
      return sinhf(x);
    case graph::UnaryFunction::kCosh:
      return coshf(x);
    case graph::UnaryFunction::kAsinh:
      return asinhf(x);
    case graph::UnaryFunction::kAtanh:
      return atanhf(x);
    default:
      return 0;
  }
}

__device__ float other_value_at(graph::UnaryFunction function, float x, float alpha, float beta) {
  switch (function) {
    case graph::UnaryFunction::kSoftplus:
      return softplus(x);
    case graph::UnaryFunction::kMish:
      return x * tanhf(softplus(x));
    case graph::UnaryFunction::kSoftsign:
      return x / (1 + fabsf(x));
    case graph::UnaryFunction::kShrink:
      return x > alpha ? x - beta : x < -alpha ? x + beta : 0;
    case graph::UnaryFunction::kThreshold:
      return x > alpha ? x : 0;
    case graph::UnaryFunction::kSign:
      return x > 0 ? 1 : x < 0 ? -1 : x;
    case graph::UnaryFunction::kFloor:
      return floorf(x);
    case graph::UnaryFunction::kCeil:
      return ceilf(x);
    case graph::UnaryFunction::kRound:
      return rintf(x);
    case graph::UnaryFunction::kIsNan:
      return isnan(x) ? 1 : 0;
    case graph::UnaryFunction::kIsInfinite:
      return isinf(x) && (x > 0 ? beta : alpha) != 0 ? 1 : 0;
    default:
      return trigonometric_value_at(function, x);
  }
}

__device__ float value_at(graph::UnaryFunction function, float x, float alpha, float beta) {
  switch (function) {
    case graph::UnaryFunction::kLinear:
      return alpha * x + beta;
    case graph::UnaryFunction::kLeakyRelu:
      return x > 0 ? x : alpha * x;
    case graph::UnaryFunction::kClip:
      return clip(x, alpha, beta);
    case graph::UnaryFunction::kElu:
      return x > 0 ? x : alpha * expm1f(x);
    case graph::UnaryFunction::kSigmoid:
      return logistic(x);
    case graph::UnaryFunction::kTanh:
      return tanhf(x);
    case graph::UnaryFunction::kSilu:
      return x * logistic(x);
    case graph::UnaryFunction::kHardSigmoid:
      return clip(alpha * x + beta, 0, 1);
    case graph::UnaryFunction::kHardSwish:
      return x * clip(x / 6 + 0.5F, 0, 1);
    case graph::UnaryFunction::kGelu:
      return x * normcdff(x);
    case graph::UnaryFunction::kGeluTanh:
      return x / 2 * (1 + tanhf(gelu_argument(x)));
    case graph::UnaryFunction::kErf:
      return erff(x);
    case graph::UnaryFunction::kExp:
      return expf(x);
    case graph::UnaryFunction::kLog:
      return logf(x);
    case graph::UnaryFunction::kSqrt:
      return sqrtf(x);
    case graph::UnaryFunction::kAbs:
      return fabsf(x);
    case graph::UnaryFunction::kPower:
      return powf(x, alpha);
    default:
      return other_value_at(function, x, alpha, beta);
  }
}

// The derivative where the output is y, for backward_reads_output().
__device__ float slope_from_output(graph::UnaryFunction function, float y, float alpha, float beta) {
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
      return 0.5F / y;
    default:
      return 0;
  }
}

__device__ float gelu_tanh_slope(float x) {
  const float tanh = tanhf(gelu_argument(x));
  const float inner = kRootTwoOverPi * (1 + 3 * 0.044715F * x * x);
  return 0.5F * (1 + tanh) + x / 2 * (1 - tanh * tanh) * inner;
}

__device__ float trigonometric_slope(graph::UnaryFunction function, float x) {
  switch (function) {
    case graph::UnaryFunction::kSin:
      return cosf(x);
    case graph::UnaryFunction::kCos:
      return -sinf(x);
    case graph::UnaryFunction::kTan:
      return 1 + tanf(x) * tanf(x);
    case graph::UnaryFunction::kAsin:
      return 1 / sqrtf((1 - x) * (1 + x));
    case graph::UnaryFunction::kAcos:
      return -1 / sqrtf((1 - x) * (1 + x));
    case graph::UnaryFunction::kAtan:
      return 1 / (1 + x * x);
    case graph::UnaryFunction::kSinh:
      return coshf(x);
    case graph::UnaryFunction::kCosh:
      return sinhf(x);
    case graph::UnaryFunction::kAsinh:
      return 1 / sqrtf(x * x + 1);
    case graph::UnaryFunction::kAtanh:
      return 1 / ((1 - x) * (1 + x));
    default:
      return 0;
  }
}

__device__ float mish_slope(float x) {
  const float tanh = tanhf(softplus(x));
  return tanh + x * (1 - tanh * tanh) * logistic(x);
}

__device__ float other_slope(graph::UnaryFunction function, float x, float alpha) {
  switch (function) {
    case graph::UnaryFunction::kSoftplus:
      return logistic(x);
    case graph::UnaryFunction::kMish:
      return mish_slope(x);
    case graph::UnaryFunction::kSoftsign:
      return 1 / ((1 + fabsf(x)) * (1 + fabsf(x)));
    case graph::UnaryFunction::kShrink:
      return fabsf(x) > alpha ? 1 : 0;
    case graph::UnaryFunction::kThreshold:
      return x > alpha ? 1 : 0;
    default:
      return trigonometric_slope(function, x);
  }
}

// The derivative where the input is x, for the other functions.
__device__ float slope_from_input(graph::UnaryFunction function, float x, float alpha) {
  switch (function) {
    case graph::UnaryFunction::kLinear:
      return alpha;
    case graph::UnaryFunction::kSilu:
      return logistic(x) * (1 + x * (1 - logistic(x)));
    case graph::UnaryFunction::kHardSwish:
      return x <= -3 ? 0 : x >= 3 ? 1 : x / 3 + 0.5F;
    case graph::UnaryFunction::kGelu:
      return normcdff(x) + x * kOneOverRootTwoPi * expf(-x * x / 2);
    case graph::UnaryFunction::kGeluTanh:
      return gelu_tanh_slope(x);
    case graph::UnaryFunction::kErf:
      return kTwoOverRootPi * expf(-x * x);
    case graph::UnaryFunction::kLog:
      return 1 / x;
    case graph::UnaryFunction::kAbs:
      return x > 0 ? 1 : x < 0 ? -1 : 0;
    case graph::UnaryFunction::kPower:
      return alpha * powf(x, alpha - 1);
    default:
      return other_slope(function, x, alpha);
  }
}

void unary(const CudaCall& call) {
  const graph::UnaryFunction function = call.as<graph::UnaryAttributes>().function;
  const float alpha = call.as<graph::UnaryAttributes>().alpha;
  const float beta = call.as<graph::UnaryAttributes>().beta;
  map(call, [=] __device__(float x) { return value_at(function, x, alpha, beta); });
}

void unary_backward(const CudaCall& call) {
  const graph::UnaryFunction function = call.as<graph::UnaryAttributes>().function;
  const float alpha = call.as<graph::UnaryAttributes>().alpha;
  const float beta = call.as<graph::UnaryAttributes>().beta;
  if (graph::backward_reads_output(function)) {
    map_pairs(call, [=] __device__(float y, float dy) { return dy * slope_from_output(function, y, alpha, beta); });
  } else {
    map_pairs(call, [=] __device__(float x, float dy) { return dy * slope_from_input(function, x, alpha); });
  }
}

}  // namespace

KernelEntries unary_kernels() {
  return {
      {graph::OpKind::kUnary, unary},
      {graph::OpKind::kUnaryBackward, unary_backward},
  };
}

}  // namespace sluice::kernels::cuda
