#include <map>

#include "sluice/kernels/reference/reference_kernels.hpp"

namespace sluice {
namespace {

std::map<OpKind, ReferenceKernel> all_kernels() {
  std::map<OpKind, ReferenceKernel> all;
  for (const auto& family :
       {reference_convolution_kernels, reference_batch_norm_kernels, reference_layer_norm_kernels,
        reference_elementwise_kernels, reference_unary_kernels, reference_movement_kernels, reference_pooling_kernels,
        reference_dense_kernels, reference_matmul_kernels, reference_sequence_kernels, reference_loss_kernels,
        reference_update_kernels, reference_rank_kernels}) {
    for (const auto& [kind, kernel] : family()) {
      SLUICE_CHECK(all.emplace(kind, kernel).second, "two kernels for " + std::string(to_string(kind)));
    }
  }
  return all;
}

}  // namespace

void run_reference_kernel(const ReferenceCall& call) {
  static const std::map<OpKind, ReferenceKernel> kernels = all_kernels();
  kernels.at(call.op().kind)(call);
}

}  // namespace sluice
