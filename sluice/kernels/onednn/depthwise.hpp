// The weights' gradient of a depthwise convolution (one channel in and out for each group), as a loop of our own: oneDNN
// has vector code of its own for narrow windows only, and makes matrix products of one row each for the others (5 x 5 in
// EfficientNet, 7 x 7 in ConvNeXt), which take fifteen times longer and want images row-major.
#pragma once

#include "sluice/kernels/onednn/kernel/kernel.hpp"

namespace sluice::kernels {

// Whether the loop knows it: fp32, channels that fill blocks of 16.
bool is_known_depthwise(const KernelRequest& request);

// dw [C, 1, KH, KW], and perhaps dbias [C], of x and dy [N, C, H, W] in blocks of 16 channels; any window, stride and
// dilation. Takes no scratch. Sums of a row of the image are made first, then those of all rows in order.
KernelPtr make_depthwise_backward_weights(const KernelRequest& request);

}  // namespace sluice::kernels
