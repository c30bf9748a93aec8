// What convolutions and transposed convolutions ask oneDNN for: windows in its terms, weights with groups, and the
// search for layouts. Each primitive is asked for twice: first free to choose every layout, then with the layouts that
// the graph has already fixed. The second answer is taken if it is the same implementation. So a reorder is inserted
// only where it buys a faster kernel.
#pragma once

#include <string_view>

#include "sluice/kernels/onednn/primitive_kernel.hpp"

namespace sluice::kernels {

// oneDNN counts the rows and columns skipped by a dilated kernel, so its dilation is one less.
struct ConvolutionWindow {
  explicit ConvolutionWindow(const graph::Window& window)
      : strides{window.stride_h, window.stride_w},
        dilation{window.dilation_h - 1, window.dilation_w - 1},
        begin{window.pad_top, window.pad_left},
        end{window.pad_bottom, window.pad_right} {}
  dnnl::memory::dims strides;
  dnnl::memory::dims dilation;
  dnnl::memory::dims begin;  // padding
  dnnl::memory::dims end;

  // A primitive's description, whose last arguments are always these.
  template <typename Primitive, typename... First>
  auto describe(const dnnl::engine& engine, const dnnl::primitive_attr& attributes, const First&... first) const {
    return kernels::describe<Primitive>(engine, attributes, first..., strides, dilation, begin, end);
  }
  template <typename Primitive, typename Hint, typename... First>
  auto describe_backward(const dnnl::engine& engine, const Hint& forward, const First&... first) const {
    return kernels::describe_backward<Primitive>(engine, user_scratchpad(), forward, first..., strides, dilation, begin,
                                                 end);
  }
};

// [O, I / G, KH, KW] as oneDNN wants it: the same, or with groups [G, O / G, I / G, KH, KW].
inline graph::Shape split_groups(const graph::Shape& weights, std::int64_t groups) {
  if (groups == 1) return weights;
  graph::Shape split{groups};
  split.insert(split.end(), weights.begin(), weights.end());
  split[1] /= groups;
  return split;
}

// `layout` of weights, with the dimensions `shape`. Weights that lie row-major for another op have that op's
// dimensions, but their bytes are right for any op.
inline Layout with_shape(const Layout& layout, const graph::Shape& shape, graph::DType dtype) {
  const bool same = dims_of(layout) == shape;
  return same || !is_plain(layout) ? layout : plain_layout(shape, dtype);
}

// The operands of a convolution in any direction: requests of x, w and y or their gradients. `any_`: oneDNN may choose
// the layout; `chosen_`: as the graph has fixed it, if it has. `Family` (see convolution_primitives.hpp) knows the
// order of a weight's dimensions.
template <typename Family>
struct ConvolutionOperands {
  const OperandRequest& x;
  const OperandRequest& w;
  const OperandRequest& y;
  const graph::ConvolutionAttributes& attributes;
  bool strict = false;  // only the layouts that the graph has fixed will do

  ConvolutionWindow window() const { return ConvolutionWindow(attributes.window); }
  graph::Shape split_w() const { return split_groups(w.shape, attributes.groups); }
  Layout any_w(graph::DType dtype) const { return any_layout(Family::weights_shape(split_w()), dtype); }

  Layout any_x() const { return any_layout(x.shape, x.dtype); }
  Layout any_w() const { return any_w(w.dtype); }
  Layout any_y() const { return any_layout(y.shape, y.dtype); }
  Layout chosen_x() const { return x.layout.value_or(any_x()); }
  Layout chosen_w() const { return w.layout ? Family::exchange(with_shape(*w.layout, split_w(), w.dtype)) : any_w(); }
  Layout chosen_y() const { return y.layout.value_or(any_y()); }
};

// With the layouts that are already fixed, oneDNN may have only a slow implementation, or none. In both cases the free
// choice is kept.
template <typename PrimitiveDesc, typename Make>
PrimitiveDesc keep_layouts_if_as_fast(const PrimitiveDesc& free, Make make_fixed) {
  try {
    const PrimitiveDesc fixed = make_fixed();
    if (std::string_view(fixed.impl_info_str()) == free.impl_info_str()) return fixed;
  } catch (const dnnl::error& error) {
    if (!says_none(error)) throw;
  }
  return free;
}

// The search for layouts of a forward primitive, which make(x, w, y) asks oneDNN for.
template <typename Operands, typename Make>
auto choose_forward_layouts(const Operands& operands, Make make) {
  if (operands.strict) return make(operands.chosen_x(), operands.chosen_w(), operands.chosen_y());
  const auto free = make(operands.any_x(), operands.any_w(), operands.any_y());
  return keep_layouts_if_as_fast(free,
                                 [&] { return make(operands.chosen_x(), operands.chosen_w(), operands.chosen_y()); });
}

// The search for layouts of a backward primitive. Weights come last: they (or their gradient) are small beside the
// activations, so a reorder of weights is the first to accept. `x_argument`: x among the primitive's arguments.
template <typename Operands, typename Make>
auto choose_backward_layouts(const Operands& operands, int x_argument, Make make) {
  if (operands.strict) return make(operands.chosen_x(), operands.chosen_w(), operands.chosen_y());
  const auto free = make(operands.any_x(), operands.any_w(), operands.any_y());
  const auto without_activation_reorder =
      keep_layouts_if_as_fast(free, [&] { return make(operands.chosen_x(), operands.any_w(), operands.chosen_y()); });
  return keep_layouts_if_as_fast(without_activation_reorder, [&] {
    return make(without_activation_reorder.query_md(dnnl::query::exec_arg_md, x_argument), operands.chosen_w(),
                without_activation_reorder.diff_dst_desc());
  });
}

}  // namespace sluice::kernels
