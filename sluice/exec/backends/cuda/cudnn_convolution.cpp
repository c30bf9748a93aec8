#include <algorithm>
#include <set>

#include "sluice/exec/backends/cuda/convolution.hpp"

// cuDNN 9 calls this interface deprecated. It is the one that lists algorithms with their determinism and workspace in
// one call, and it is still there in every release.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace sluice::cuda {
namespace {

int number(std::int64_t value) { return static_cast<int>(value); }

cudnnDataType_t type_of(DType dtype) { return dtype == DType::kBF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT; }

cudnnTensorDescriptor_t make_image(const Shape& shape, DType dtype) {
  cudnnTensorDescriptor_t image = nullptr;
  check(cudnnCreateTensorDescriptor(&image), "describing an image");
  check(cudnnSetTensor4dDescriptor(image, CUDNN_TENSOR_NCHW, type_of(dtype), number(shape[0]), number(shape[1]),
                                   number(shape[2]), number(shape[3])),
        "describing an image");
  return image;
}

// What cuDNN says of its algorithms, whichever way they go.
template <typename Performance>
std::vector<ConvolutionAlgorithm> usable(const std::vector<Performance>& all, Bytes scratch) {
  std::vector<ConvolutionAlgorithm> found;
  for (const Performance& each : all) {
    const auto bytes = static_cast<Bytes>(each.memory);
    if (each.status != CUDNN_STATUS_SUCCESS || each.determinism != CUDNN_DETERMINISTIC || bytes > scratch) continue;
    const ConvolutionAlgorithm algorithm{static_cast<int>(each.algo), bytes};
    if (std::ranges::find(found, algorithm.number, &ConvolutionAlgorithm::number) == found.end())
      found.push_back(algorithm);
  }
  return found;
}

constexpr int kMostAlgorithms = 10;

}  // namespace

bool is_symmetric(const Window& window) {
  return window.pad_top == window.pad_bottom && window.pad_left == window.pad_right;
}

CudnnConvolution::CudnnConvolution(const Context& context, const ConvolutionShape& shape)
    : context_(context),
      way_(shape.way),
      fine_(make_image(shape.fine, shape.dtype)),
      coarse_(make_image(shape.coarse, shape.dtype)) {
  check(cudnnCreateFilterDescriptor(&filters_), "describing filters");
  check(cudnnSetFilter4dDescriptor(filters_, type_of(shape.dtype), CUDNN_TENSOR_NCHW, number(shape.filters[0]),
                                   number(shape.filters[1]), number(shape.filters[2]), number(shape.filters[3])),
        "describing filters");
  const Window& window = shape.window;
  check(cudnnCreateConvolutionDescriptor(&convolution_), "describing a convolution");
  check(cudnnSetConvolution2dDescriptor(convolution_, number(window.pad_top), number(window.pad_left),
                                        number(window.stride_h), number(window.stride_w), number(window.dilation_h),
                                        number(window.dilation_w), CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
        "describing a convolution");
  check(cudnnSetConvolutionGroupCount(convolution_, number(shape.groups)), "describing a convolution");
  check(cudnnSetConvolutionMathType(convolution_, shape.dtype == DType::kBF16 ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH),
        "describing a convolution");
}

CudnnConvolution::~CudnnConvolution() {
  cudnnDestroyTensorDescriptor(fine_);
  cudnnDestroyTensorDescriptor(coarse_);
  cudnnDestroyFilterDescriptor(filters_);
  cudnnDestroyConvolutionDescriptor(convolution_);
}

std::vector<ConvolutionAlgorithm> CudnnConvolution::algorithms(Bytes scratch) const {
  int count = 0;
  const cudnnHandle_t handle = context_.cudnn();
  if (way_ == ConvolutionWay::kToCoarse) {
    std::vector<cudnnConvolutionFwdAlgoPerf_t> all(kMostAlgorithms);
    if (cudnnGetConvolutionForwardAlgorithm_v7(handle, fine_, filters_, convolution_, coarse_, kMostAlgorithms, &count,
                                               all.data()) != CUDNN_STATUS_SUCCESS)
      return {};
    all.resize(static_cast<std::size_t>(count));
    return usable(all, scratch);
  }
  if (way_ == ConvolutionWay::kToFine) {
    std::vector<cudnnConvolutionBwdDataAlgoPerf_t> all(kMostAlgorithms);
    if (cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, filters_, coarse_, convolution_, fine_, kMostAlgorithms,
                                                    &count, all.data()) != CUDNN_STATUS_SUCCESS)
      return {};
    all.resize(static_cast<std::size_t>(count));
    return usable(all, scratch);
  }
  std::vector<cudnnConvolutionBwdFilterAlgoPerf_t> all(kMostAlgorithms);
  if (cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, fine_, coarse_, convolution_, filters_, kMostAlgorithms,
                                                    &count, all.data()) != CUDNN_STATUS_SUCCESS)
    return {};
  all.resize(static_cast<std::size_t>(count));
  return usable(all, scratch);
}

void CudnnConvolution::run(const ConvolutionAlgorithm& algorithm, const void* source, const void* other, void* target,
                           void* workspace) const {
  const float one = 1;
  const float zero = 0;
  const auto bytes = static_cast<std::size_t>(algorithm.workspace_bytes);
  const cudnnHandle_t handle = context_.cudnn();
  switch (way_) {
    case ConvolutionWay::kToCoarse:
      return check(cudnnConvolutionForward(handle, &one, fine_, source, filters_, other, convolution_,
                                           static_cast<cudnnConvolutionFwdAlgo_t>(algorithm.number), workspace, bytes,
                                           &zero, coarse_, target),
                   "a convolution");
    case ConvolutionWay::kToFine:
      return check(cudnnConvolutionBackwardData(handle, &one, filters_, other, coarse_, source, convolution_,
                                                static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm.number), workspace,
                                                bytes, &zero, fine_, target),
                   "a convolution's gradient");
    case ConvolutionWay::kToFilters:
      return check(cudnnConvolutionBackwardFilter(handle, &one, fine_, source, coarse_, other, convolution_,
                                                  static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm.number),
                                                  workspace, bytes, &zero, filters_, target),
                   "the gradient of a convolution's filters");
  }
}

}  // namespace sluice::cuda
