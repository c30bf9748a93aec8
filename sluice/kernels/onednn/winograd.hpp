// Winograd's minimal filtering (Lavin and Gray 2016), F(4x4, 3x3): a 3x3 convolution in a quarter of the
// multiplications.
//
// oneDNN's kernels for it run two to three times as fast as its direct ones, with an error of about 2e-6 of the largest
// value. They transform tiles of the image into scratch memory, which can be larger than the image. The scratch is an
// operand, so a plan must have room for it. A batch is therefore done in parts of a few samples where that keeps the
// scratch small.
#pragma once

#include <functional>

#include "sluice/kernels/onednn/kernel/kernel.hpp"

namespace sluice::kernels {

// Whether Winograd is better for a convolution of these operands: fp32, 3x3, stride 1, enough channels and tiles.
bool winograd_pays(const graph::ConvolutionAttributes& attributes, const OperandRequest& x, const OperandRequest& y);

// Makes the kernel for a part of `samples` samples; nothing if oneDNN has none.
using MakePart = std::function<KernelPtr(std::int64_t samples)>;

// A kernel that handles all samples by running one part after the other. It takes the largest part whose scratch is
// within `limit`; nothing if there is none. Images are cut along samples: `is_image` by operand, inputs then outputs.
KernelPtr make_in_parts(const KernelRequest& request, const std::vector<bool>& is_image, Bytes limit,
                        const MakePart& make_part);

}  // namespace sluice::kernels
