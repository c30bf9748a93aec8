// Transposed convolutions, oneDNN's deconvolutions. The graph has their weights as [I, O / G, KH, KW], oneDNN as
// [O, I, KH, KW] or [G, O / G, I / G, KH, KW]: the same bytes with two dimensions exchanged.
#include "sluice/kernels/onednn/convolution_primitives.hpp"

namespace sluice::kernels {
namespace {

struct TransposedConvolution {
  using Forward = dnnl::deconvolution_forward;
  using BackwardData = dnnl::deconvolution_backward_data;
  using BackwardWeights = dnnl::deconvolution_backward_weights;
  static constexpr auto kDirect = dnnl::algorithm::deconvolution_direct;

  static graph::Shape weights_shape(graph::Shape split) {
    std::swap(split[split.size() - 4], split[split.size() - 3]);
    return split;
  }
  static Layout exchange(const Layout& layout) {
    const bool grouped = dims_of(layout).size() == 5;
    return layout.permute_axes(grouped ? std::vector<int>{0, 2, 1, 3, 4} : std::vector<int>{1, 0, 2, 3});
  }
};

KernelPtr make_convolution_transpose(const KernelRequest& request, const dnnl::engine& engine) {
  return make_forward<TransposedConvolution>(TransposedConvolution::kDirect, request, engine);
}

KernelPtr make_convolution_transpose_backward_data(const KernelRequest& request, const dnnl::engine& engine) {
  return make_backward_data<TransposedConvolution>(TransposedConvolution::kDirect, request, engine);
}

KernelPtr make_convolution_transpose_backward_weights(const KernelRequest& request, const dnnl::engine& engine) {
  return make_backward_weights<TransposedConvolution>(TransposedConvolution::kDirect, request, engine);
}

}  // namespace

KernelMakers convolution_transpose_kernels() {
  return {
      {graph::OpKind::kConvTranspose2d, make_convolution_transpose},
      {graph::OpKind::kConvTranspose2dBackwardData, make_convolution_transpose_backward_data},
      {graph::OpKind::kConvTranspose2dBackwardWeights, make_convolution_transpose_backward_weights},
  };
}

}  // namespace sluice::kernels
