// Kinds that this backend has no kernel for yet.
#include "sluice/exec/backends/onednn/kernel.hpp"

namespace sluice {

KernelPtr make_convolution_transpose(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  SLUICE_CHECK(false, "no kernel yet for " + std::string(to_string(request.kind)));
}
KernelPtr make_convolution_transpose_backward_data(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  SLUICE_CHECK(false, "no kernel yet for " + std::string(to_string(request.kind)));
}
KernelPtr make_convolution_transpose_backward_weights(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  SLUICE_CHECK(false, "no kernel yet for " + std::string(to_string(request.kind)));
}
KernelPtr make_local_response_norm(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  SLUICE_CHECK(false, "no kernel yet for " + std::string(to_string(request.kind)));
}
KernelPtr make_local_response_norm_backward(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  SLUICE_CHECK(false, "no kernel yet for " + std::string(to_string(request.kind)));
}
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
KernelPtr make_transpose(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  SLUICE_CHECK(false, "no kernel yet for " + std::string(to_string(request.kind)));
}
KernelPtr make_concat(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  SLUICE_CHECK(false, "no kernel yet for " + std::string(to_string(request.kind)));
}
KernelPtr make_slice(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  SLUICE_CHECK(false, "no kernel yet for " + std::string(to_string(request.kind)));
}
KernelPtr make_pad(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  SLUICE_CHECK(false, "no kernel yet for " + std::string(to_string(request.kind)));
}
KernelPtr make_matmul(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  SLUICE_CHECK(false, "no kernel yet for " + std::string(to_string(request.kind)));
}
KernelPtr make_lstm_cell(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  SLUICE_CHECK(false, "no kernel yet for " + std::string(to_string(request.kind)));
}
KernelPtr make_lstm_cell_backward(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  SLUICE_CHECK(false, "no kernel yet for " + std::string(to_string(request.kind)));
}

}  // namespace sluice
