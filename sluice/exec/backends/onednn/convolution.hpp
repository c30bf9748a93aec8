// What convolutions and transposed convolutions share: windows in oneDNN's terms, weights with groups, and the choice
// of layouts.
#pragma once

#include <string_view>

#include "sluice/exec/backends/onednn/primitive_kernel.hpp"

namespace sluice {

// oneDNN counts the rows and columns skipped by a dilated kernel, so its dilation is one less.
struct ConvolutionWindow {
  explicit ConvolutionWindow(const Window& window)
      : strides{window.stride_h, window.stride_w},
        dilation{window.dilation_h - 1, window.dilation_w - 1},
        begin{window.pad_top, window.pad_left},
        end{window.pad_bottom, window.pad_right} {}
  dnnl::memory::dims strides;
  dnnl::memory::dims dilation;
  dnnl::memory::dims begin;  // padding
  dnnl::memory::dims end;
};

// [O, I / G, KH, KW] as oneDNN wants it: the same, or with groups [G, O / G, I / G, KH, KW].
inline Shape split_groups(const Shape& weights, std::int64_t groups) {
  if (groups == 1) return weights;
  Shape split{groups};
  split.insert(split.end(), weights.begin(), weights.end());
  split[1] /= groups;
  return split;
}

inline Layout chosen_or_any(const OperandRequest& operand) {
  return operand.layout.value_or(any_layout(operand.shape, operand.dtype));
}

// Weights that lie row-major for another op have that op's dimensions; their bytes are right for any.
inline Layout with_shape(const Layout& layout, const Shape& shape, DType dtype) {
  const bool same = Shape(layout.data.dims, layout.data.dims + layout.data.ndims) == shape;
  return same || !is_plain(layout) ? layout : plain_layout(shape, dtype);
}

// Asked for what is given, oneDNN may have only a slow implementation, or none; then the free choice stands.
template <typename PrimitiveDesc, typename Make>
PrimitiveDesc keep_layouts_if_as_fast(const PrimitiveDesc& free, Make make_fixed) {
  try {
    const PrimitiveDesc fixed = make_fixed();
    if (std::string_view(fixed.impl_info_str()) == free.impl_info_str()) return fixed;
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented && error.status != dnnl_invalid_arguments) throw;
  }
  return free;
}

// Appends a fused activation to a primitive's attributes.
void append_activation(Activation activation, dnnl::primitive_attr& attributes);

}  // namespace sluice
