// The gradient of a convolution's input as a convolution: of dy with the filters turned by half a circle and their
// channels exchanged. cuDNN's engines for convolutions are up to twice as fast as those for the gradient.
#include "sluice/kernels/cuda/cells.cuh"
#include "sluice/kernels/cuda/convolution/convolution.hpp"
#include "sluice/kernels/cuda/launch.cuh"

namespace sluice::kernels::cuda {
namespace {

constexpr std::string_view kPrefix = "flipped_";

// Without strides, and with no more padding than the window reaches.
bool can_be_flipped(const ConvolutionShape& shape) {
  const graph::Window& window = shape.window;
  const std::int64_t reach_h = (shape.filters[2] - 1) * window.dilation_h;
  const std::int64_t reach_w = (shape.filters[3] - 1) * window.dilation_w;
  return shape.way == ConvolutionWay::kToFine && shape.groups == 1 && window.stride_h == 1 && window.stride_w == 1 &&
         std::max(window.pad_top, window.pad_bottom) <= reach_h &&
         std::max(window.pad_left, window.pad_right) <= reach_w && reach_h + reach_w > 0;
}

ConvolutionShape flipped(const ConvolutionShape& shape) {
  const graph::Window& window = shape.window;
  const std::int64_t reach_h = (shape.filters[2] - 1) * window.dilation_h;
  const std::int64_t reach_w = (shape.filters[3] - 1) * window.dilation_w;
  ConvolutionShape other = shape;
  other.way = ConvolutionWay::kToCoarse;
  std::swap(other.fine, other.coarse);
  std::swap(other.filters[0], other.filters[1]);
  other.window.pad_top = reach_h - window.pad_top;
  other.window.pad_left = reach_w - window.pad_left;
  other.window.pad_bottom = reach_h - window.pad_bottom;
  other.window.pad_right = reach_w - window.pad_right;
  return other;
}

void flip(cudaStream_t stream, const graph::Shape& filters, const Cells& from, const Cells& to) {
  const std::int64_t coarse = filters[0];
  const std::int64_t fine = filters[1];
  const std::int64_t taps = filters[2] * filters[3];
  for_each_element(stream, coarse * fine * taps, [=] __device__(std::int64_t i) {
    const std::int64_t tap = i % taps;
    const std::int64_t channel = i / taps;  // of what is made: [fine, coarse]
    to.set(i, from[(channel % coarse * fine + channel / coarse) * taps + taps - 1 - tap]);
  });
}

class FlippedMethod : public ConvolutionMethod {
 public:
  FlippedMethod(const Context& context, const ConvolutionShape& shape, std::shared_ptr<ConvolutionMethod> inner)
      : context_(context), filters_(shape.filters), dtype_(shape.dtype), inner_(std::move(inner)) {
    name = std::string(kPrefix) + inner_->name;
    filter_bytes_ = align_up(graph::element_count(filters_) * size_of(dtype_), kWorkspaceAlignment);
    workspace_bytes = filter_bytes_ + inner_->workspace_bytes;
  }

  void run(const void* source, const void* other, void* target, void* workspace) const override {
    const bool half = dtype_ == graph::DType::kBF16;
    flip(context_.stream(), filters_, Cells(const_cast<void*>(other), half), Cells(workspace, half));
    inner_->run(source, workspace, target, static_cast<std::byte*>(workspace) + filter_bytes_);
  }

 private:
  const Context& context_;
  graph::Shape filters_;
  graph::DType dtype_;
  std::shared_ptr<ConvolutionMethod> inner_;
  Bytes filter_bytes_ = 0;
};

}  // namespace

ConvolutionMethods flipped_methods(const Context& context, const ConvolutionShape& shape, Bytes scratch,
                                   const std::vector<std::string>& wanted) {
  if (!can_be_flipped(shape)) return {};
  std::vector<std::string> inner;
  for (const std::string& name : wanted) {
    if (name.starts_with(kPrefix)) inner.push_back(name.substr(kPrefix.size()));
  }
  if (inner.empty() && !wanted.empty()) return {};
  ConvolutionMethods methods;
  for (const auto& method : cudnn_methods(context, flipped(shape), scratch, inner)) {
    auto made = std::make_shared<FlippedMethod>(context, shape, method);
    if (made->workspace_bytes <= scratch) methods.push_back(std::move(made));
  }
  return methods;
}

}  // namespace sluice::kernels::cuda
