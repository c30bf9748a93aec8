#include <map>

#include "sluice/kernels/onednn/fp16_kernel.hpp"
#include "sluice/kernels/onednn/kernel/kernel.hpp"

namespace sluice::kernels {
namespace {

std::map<graph::OpKind, KernelMaker> all_makers() {
  std::map<graph::OpKind, KernelMaker> all;
#define SLUICE_KERNEL_FAMILY(family) family,
  for (const auto& family : {SLUICE_KERNEL_FAMILIES(SLUICE_KERNEL_FAMILY)}) {
#undef SLUICE_KERNEL_FAMILY
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
  static const std::map<graph::OpKind, KernelMaker> makers = all_makers();
  const auto maker = makers.find(request.kind);
  SLUICE_CHECK(maker != makers.end(), "no kernel for " + std::string(to_string(request.kind)));
  return wants_fp16_kernel(request) ? make_fp16_kernel(request, engine, maker->second) : maker->second(request, engine);
}

}  // namespace sluice::kernels
