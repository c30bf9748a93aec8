// Convolutions: by Winograd's algorithm where that pays, else directly; by a loop of our own where oneDNN has no code.
#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/kernels/onednn/convolution_primitives.hpp"
#include "sluice/kernels/onednn/depthwise.hpp"
#include "sluice/kernels/onednn/reordered_weights.hpp"
#include "sluice/kernels/onednn/winograd.hpp"

namespace sluice::kernels {
namespace {

struct Convolution {
  using Forward = dnnl::convolution_forward;
  using BackwardData = dnnl::convolution_backward_data;
  using BackwardWeights = dnnl::convolution_backward_weights;
  static constexpr auto kDirect = dnnl::algorithm::convolution_direct;

  static const graph::Shape& weights_shape(const graph::Shape& split) { return split; }
  static const Layout& exchange(const Layout& layout) { return layout; }
};

// With `samples` samples in place of all.
KernelRequest part_of(const KernelRequest& request, const std::vector<bool>& is_image, std::int64_t samples) {
  KernelRequest part = request;
  for (std::size_t i = 0; i < is_image.size(); ++i) {
    if (!is_image[i]) continue;
    const bool input = i < request.inputs.size();
    OperandRequest& operand = input ? part.inputs[i] : part.outputs[i - request.inputs.size()];
    operand.shape[0] = samples;
    if (operand.layout) operand.layout = layout_like(*operand.layout, operand.shape);
  }
  return part;
}

using MakeConvolution = std::unique_ptr<PrimitiveKernel> (*)(dnnl::algorithm, const KernelRequest&,
                                                             const dnnl::engine&);

// In the layouts requested if oneDNN has it in these, else in its own ones of the weights, which are reordered inside.
// `weights`: the operand, counted over inputs, then outputs.
KernelPtr make_direct(MakeConvolution make, const KernelRequest& request, std::size_t weights,
                      const dnnl::engine& engine) {
  try {
    KernelPtr kernel = make(Convolution::kDirect, request, engine);
    if (request.method == Method::kBest || !is_reference(*kernel)) return kernel;
  } catch (const dnnl::error& error) {
    if (!says_none(error) || request.method == Method::kBest) throw;
  }
  KernelRequest free = request;
  const std::size_t inputs = free.inputs.size();
  (weights < inputs ? free.inputs[weights] : free.outputs[weights - inputs]).layout.reset();
  return with_weights_reordered(make(Convolution::kDirect, free, engine), request, weights, engine);
}

// By the method requested; kBest is Winograd's algorithm where that pays and oneDNN has it, else the direct one.
// `cuttable`: the batch may be done in parts.
KernelPtr make_by_method(MakeConvolution make, const KernelRequest& request, const OperandRequest& x,
                         const OperandRequest& y, const std::vector<bool>& is_image, bool cuttable,
                         const dnnl::engine& engine) {
  const bool winograd =
      request.method != Method::kDirect && winograd_pays(request.as<graph::ConvolutionAttributes>(), x, y);
  const auto make_part = [&](std::int64_t samples) -> KernelPtr {
    if (!cuttable && samples != x.shape[0]) return nullptr;
    try {
      return make(dnnl::algorithm::convolution_winograd, part_of(request, is_image, samples), engine);
    } catch (const dnnl::error& error) {
      if (!says_none(error)) throw;
      return nullptr;
    }
  };
  KernelPtr fast = winograd ? make_in_parts(request, is_image, request.scratch, make_part) : nullptr;
  if (fast != nullptr) return fast;
  if (request.method == Method::kWinograd) throw dnnl::error(dnnl_unimplemented, "no Winograd kernel");
  const auto weights = as_index(std::ranges::find(is_image, false) - is_image.begin());
  return make_direct(make, request, weights, engine);
}

KernelPtr make_convolution(const KernelRequest& request, const dnnl::engine& engine) {
  std::vector<bool> is_image{true, false};
  is_image.resize(request.inputs.size(), false);
  is_image.push_back(true);
  return make_by_method(make_forward<Convolution>, request, request.inputs[0], request.outputs[0], is_image, true,
                        engine);
}

KernelPtr make_convolution_backward_data(const KernelRequest& request, const dnnl::engine& engine) {
  return make_by_method(make_backward_data<Convolution>, request, request.outputs[0], request.inputs[0],
                        {true, false, true}, true, engine);
}

KernelPtr make_convolution_backward_weights(const KernelRequest& request, const dnnl::engine& engine) {
  std::vector<bool> is_image{true, true};
  is_image.resize(2 + request.outputs.size(), false);
  const auto make = [&](Method method) {
    KernelRequest by_method = request;
    by_method.method = method;
    return make_by_method(make_backward_weights<Convolution>, by_method, request.inputs[0], request.inputs[1], is_image,
                          false, engine);
  };
  if (request.method == Method::kWinograd || !is_known_depthwise(request)) return make(request.method);
  KernelPtr best = make(Method::kBest);
  if (is_reference(*best)) return make_depthwise_backward_weights(request);
  return request.method == Method::kBest ? std::move(best) : make(request.method);
}

}  // namespace

KernelMakers convolution_kernels() {
  return {
      {graph::OpKind::kConv2d, make_convolution},
      {graph::OpKind::kConv2dBackwardData, make_convolution_backward_data},
      {graph::OpKind::kConv2dBackwardWeights, make_convolution_backward_weights},
  };
}

}  // namespace sluice::kernels
