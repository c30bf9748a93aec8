#include <array>

#include "sluice/base/as_index.hpp"
#include "sluice/kernels/reference/reference_kernels.hpp"

namespace sluice::kernels {

template <>
void reference_kernel<graph::OpKind::kInput>(const ReferenceCall& call) {
  SLUICE_CHECK(false, call.op().name + " has its data from outside");
}

void run_reference_kernel(const ReferenceCall& call) {
#define SLUICE_LISTED(kind, ...) reference_kernel<graph::OpKind::kind>,
  static constexpr std::array<void (*)(const ReferenceCall&), graph::kOpKinds> kKernels{SLUICE_OPS(SLUICE_LISTED)};
#undef SLUICE_LISTED
  kKernels.at(as_index(call.op().kind))(call);
}

}  // namespace sluice::kernels
