// The ways to do an op that may take the place of its first kernel: a convolution's and a dense layer's gradient.
#include <limits>

#include "sluice/kernels/onednn/kernel_cache.hpp"

namespace sluice::kernels {
namespace {

KernelRequest by_method(const KernelRequest& request, const Kernel& kernel, Method method, Bytes scratch) {
  KernelRequest other = in_layouts_of(request, kernel);
  other.method = method;
  other.scratch = scratch;
  return other;
}

}  // namespace

std::vector<KernelRequest> other_methods(const KernelRequest& request, const Kernel& kernel) {
  constexpr Bytes kEndless = std::numeric_limits<Bytes>::max();
  switch (request.kind) {
    case graph::OpKind::kConv2d:
    case graph::OpKind::kConv2dBackwardData:
    case graph::OpKind::kConv2dBackwardWeights:
      return {by_method(request, kernel, Method::kWinograd, kEndless),
              by_method(request, kernel, Method::kWinograd, request.scratch / 2),
              by_method(request, kernel, Method::kWinograd, request.scratch / 4),
              by_method(request, kernel, Method::kDirect, 0)};
    case graph::OpKind::kDenseBackwardData:
    case graph::OpKind::kDenseBackwardWeights:
      return {by_method(request, kernel, Method::kMatMul, 0)};
    default:
      return {};
  }
}

}  // namespace sluice::kernels
