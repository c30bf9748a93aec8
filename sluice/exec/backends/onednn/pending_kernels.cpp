// Kinds that this backend has no kernel for yet.
#include "sluice/exec/backends/onednn/kernel.hpp"

namespace sluice {

KernelPtr make_unary(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  SLUICE_CHECK(false, "no kernel yet for " + std::string(to_string(request.kind)));
}
KernelPtr make_unary_backward(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  SLUICE_CHECK(false, "no kernel yet for " + std::string(to_string(request.kind)));
}
KernelPtr make_binary(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  SLUICE_CHECK(false, "no kernel yet for " + std::string(to_string(request.kind)));
}
KernelPtr make_reduce(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  SLUICE_CHECK(false, "no kernel yet for " + std::string(to_string(request.kind)));
}
KernelPtr make_broadcast(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  SLUICE_CHECK(false, "no kernel yet for " + std::string(to_string(request.kind)));
}

}  // namespace sluice
