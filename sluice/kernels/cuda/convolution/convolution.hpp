// Convolutions. Every kind of convolution op connects a fine image and a coarse one through filters, and goes one of
// three ways along these connections; a transposed convolution is a gradient of one that goes the other way.
//
// Methods: cuDNN's engines, those it calls deterministic alone, and for fp32 none that rounds its inputs (TF32); for
// filters of one pixel a matrix product by cuBLASLt. Where there is none, every element by itself (convolution.cu).
#pragma once

#include "sluice/kernels/cuda/prepared_op.hpp"

namespace sluice::kernels::cuda {

enum class ConvolutionWay { kToCoarse, kToFine, kToFilters };

struct ConvolutionShape {
  ConvolutionWay way = ConvolutionWay::kToCoarse;
  graph::Shape fine, coarse, filters;  // filters: [coarse channels, fine channels of a group, height, width]
  graph::Window window;
  std::int64_t groups = 1;
  graph::DType dtype = graph::DType::kF32;   // of both sources
  graph::DType target = graph::DType::kF32;  // of what is made

  std::string key() const;  // equal for equal shapes
};

class ConvolutionMethod {
 public:
  virtual ~ConvolutionMethod() = default;
  // `source` and `other`: fine image and filters (to coarse), coarse image and filters (to fine), fine and coarse image
  // (to filters). Throws gpu::CudaFailure.
  virtual void run(const void* source, const void* other, void* target, void* workspace) const = 0;

  std::string name;  // the same in every process
  Bytes workspace_bytes = 0;
};
using ConvolutionMethods = std::vector<std::shared_ptr<ConvolutionMethod>>;

// The fastest on this GPU within `scratch` bytes of workspace first, then such as need less. Empty where there is none.
const ConvolutionMethods& convolution_methods(const Context& context, const ConvolutionShape& shape, Bytes scratch);

// Every element by itself: slow, of any shape.
std::shared_ptr<ConvolutionMethod> direct_method(const Context& context, const ConvolutionShape& shape);

// Candidates, as far as `wanted` names them (all where it names none).
ConvolutionMethods cudnn_methods(const Context& context, const ConvolutionShape& shape, Bytes scratch,
                                 const std::vector<std::string>& wanted);
ConvolutionMethods flipped_methods(const Context& context, const ConvolutionShape& shape, Bytes scratch,
                                   const std::vector<std::string>& wanted);
ConvolutionMethods pointwise_methods(const Context& context, const ConvolutionShape& shape, Bytes scratch);

}  // namespace sluice::kernels::cuda
