#include <map>

#include "sluice/kernels/onednn/fp16_kernel.hpp"
#include "sluice/kernels/onednn/kernel/kernel.hpp"

namespace sluice {
namespace {

std::map<OpKind, KernelMaker> all_makers() {
  std::map<OpKind, KernelMaker> all;
  for (const auto& family : {convolution_kernels, convolution_transpose_kernels,
                             dense_kernels,       elementwise_kernels,
                             lstm_kernels,        matmul_kernels,
                             pooling_kernels,     transpose_kernels,
                             unary_kernels,       batch_copy_kernels,
                             batch_norm_kernels,  batch_norm_backward_kernels,
                             binary_kernels,      cast_kernels,
                             concat_kernels,      dropout_kernels,
                             embedding_kernels,   input_kernels,
                             layer_norm_kernels,  local_response_norm_kernels,
                             loss_kernels,        reduce_kernels,
                             softmax_kernels,     sparse_product_kernels,
                             update_kernels,      clipping_kernels,
                             rank_kernels,        select_kernels}) {
    for (const auto& [kind, maker] : family()) {
      SLUICE_CHECK(all.emplace(kind, maker).second, "two kernels for " + std::string(to_string(kind)));
    }
  }
  return all;
}

}  // namespace

bool is_reference(const Kernel& kernel) {
  return kernel.implementation.find("ref") != std::string::npos ||
         kernel.implementation.find("gemm:") != std::string::npos;
}

std::vector<Layout> plain_layouts(const std::vector<OperandRequest>& operands) {
  std::vector<Layout> layouts;
  for (const OperandRequest& operand : operands) layouts.push_back(plain_layout(operand.shape, operand.dtype));
  return layouts;
}

KernelPtr make_kernel(const KernelRequest& request, const dnnl::engine& engine) {
  static const std::map<OpKind, KernelMaker> makers = all_makers();
  const auto maker = makers.find(request.kind);
  SLUICE_CHECK(maker != makers.end(), "no kernel for " + std::string(to_string(request.kind)));
  return wants_fp16_kernel(request) ? make_fp16_kernel(request, engine, maker->second) : maker->second(request, engine);
}

}  // namespace sluice
