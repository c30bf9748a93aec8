#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sluice/kernels/cuda/convolution/convolution.hpp"

namespace sluice::kernels::cuda {

std::string ConvolutionShape::key() const {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", static_cast<int>(way), fmt::join(fine, ","),
                     fmt::join(coarse, ","), fmt::join(filters, ","), window.stride_h, window.stride_w,
                     window.dilation_h, window.dilation_w, window.pad_top, window.pad_left, window.pad_bottom,
                     window.pad_right, groups, static_cast<int>(dtype), static_cast<int>(target));
}

}  // namespace sluice::kernels::cuda
