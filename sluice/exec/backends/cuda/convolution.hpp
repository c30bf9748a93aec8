// Convolutions by cuDNN. Every kind of convolution op connects a fine image and a coarse one through filters, and goes
// one of three ways along these connections; a transposed convolution is a gradient of one that goes the other way.
//
// Only algorithms that cuDNN calls deterministic are used, and no TF32. Gradients of bf16 weights are made in bf16 and
// widened: cuDNN has no kernel that writes them as fp32.
#pragma once

#include "sluice/exec/backends/cuda/prepared_op.hpp"

namespace sluice::cuda {

enum class ConvolutionWay { kToCoarse, kToFine, kToFilters };

struct ConvolutionShape {
  ConvolutionWay way = ConvolutionWay::kToCoarse;
  Shape fine, coarse, filters;  // filters: [coarse channels, fine channels of a group, height, width]
  Window window;
  std::int64_t groups = 1;
  DType dtype = DType::kF32;  // of all three
};

// cuDNN pads both sides alike.
bool is_symmetric(const Window& window);

struct ConvolutionAlgorithm {
  int number = 0;  // of cuDNN's enumeration for the way
  Bytes workspace_bytes = 0;
};

class CudnnConvolution {
 public:
  CudnnConvolution(const Context& context, const ConvolutionShape& shape);
  ~CudnnConvolution();
  CudnnConvolution(const CudnnConvolution&) = delete;
  CudnnConvolution& operator=(const CudnnConvolution&) = delete;

  // Deterministic ones within `scratch`, the one that should be fastest first.
  std::vector<ConvolutionAlgorithm> algorithms(Bytes scratch) const;

  // `source` and `other`: fine image and filters (to coarse), coarse image and filters (to fine), fine and coarse image
  // (to filters).
  void run(const ConvolutionAlgorithm& algorithm, const void* source, const void* other, void* target,
           void* workspace) const;

 private:
  const Context& context_;
  ConvolutionWay way_;
  cudnnTensorDescriptor_t fine_ = nullptr, coarse_ = nullptr;
  cudnnFilterDescriptor_t filters_ = nullptr;
  cudnnConvolutionStruct* convolution_ = nullptr;
};

}  // namespace sluice::cuda
