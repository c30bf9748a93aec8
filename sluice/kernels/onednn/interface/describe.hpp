// oneDNN's primitives in version 3's words, over versions 2 and 3 alike.
//
// Version 3 makes a primitive's description from its arguments at once; version 2 has an operation descriptor between.
// This folder is the only place that knows which version is built with. Errors: dnnl::error, as oneDNN throws it.
#pragma once

#include <dnnl.hpp>

namespace sluice::kernels {

inline constexpr bool kIsOneDnn3 = DNNL_VERSION_MAJOR >= 3;

// The description of a primitive of class `Primitive`: `arguments` are version 3's between the engine and the attributes.
template <typename Primitive, typename... Arguments>
typename Primitive::primitive_desc describe(const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
                                            const Arguments&... arguments) {
  if constexpr (kIsOneDnn3) {
    return {engine, arguments..., attributes};
  } else {
    return {typename Primitive::desc(arguments...), attributes, engine};
  }
}

// Of a backward primitive, which wants to know its forward one.
template <typename Primitive, typename Hint, typename... Arguments>
typename Primitive::primitive_desc describe_backward(const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
                                                     const Hint& forward, const Arguments&... arguments) {
  if constexpr (kIsOneDnn3) {
    return {engine, arguments..., forward, attributes};
  } else {
    return {typename Primitive::desc(arguments...), attributes, engine, forward};
  }
}

// A function by element. Version 3 has separate layouts for what is read and what is written.
template <typename Primitive = dnnl::eltwise_forward>
auto describe_eltwise(const dnnl::engine& engine, const dnnl::primitive_attr& attributes, dnnl::algorithm function,
                      const dnnl::memory::desc& data, float alpha, float beta) {
  constexpr auto kKind = dnnl::prop_kind::forward_training;
  if constexpr (kIsOneDnn3) {
    return describe<Primitive>(engine, attributes, kKind, function, data, data, alpha, beta);
  } else {
    return describe<Primitive>(engine, attributes, kKind, function, data, alpha, beta);
  }
}

template <typename Primitive = dnnl::eltwise_backward>
auto describe_eltwise_backward(const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
                               const dnnl::eltwise_forward::primitive_desc& forward, dnnl::algorithm function,
                               const dnnl::memory::desc& data, float alpha, float beta) {
  if constexpr (kIsOneDnn3) {
    return describe_backward<Primitive>(engine, attributes, forward, function, data, data, data, alpha, beta);
  } else {
    return describe_backward<Primitive>(engine, attributes, forward, function, data, data, alpha, beta);
  }
}

// Where a pooling primitive's window goes: version 3 has a dilation, too, which is 0 where neighbours are taken.
struct PoolingWindow {
  dnnl::memory::dims strides, kernel, begin, end;  // begin, end: padding

  template <typename Primitive, typename... First>
  auto describe(const dnnl::engine& engine, const dnnl::primitive_attr& attributes, const First&... first) const {
    if constexpr (kIsOneDnn3) {
      const dnnl::memory::dims dilation(kernel.size(), 0);
      return kernels::describe<Primitive>(engine, attributes, first..., strides, kernel, dilation, begin, end);
    } else {
      return kernels::describe<Primitive>(engine, attributes, first..., strides, kernel, begin, end);
    }
  }

  template <typename Primitive, typename Hint, typename... First>
  auto describe_backward(const dnnl::engine& engine, const dnnl::primitive_attr& attributes, const Hint& forward,
                         const First&... first) const {
    if constexpr (kIsOneDnn3) {
      const dnnl::memory::dims dilation(kernel.size(), 0);
      return kernels::describe_backward<Primitive>(engine, attributes, forward, first..., strides, kernel, dilation,
                                                   begin, end);
    } else {
      return kernels::describe_backward<Primitive>(engine, attributes, forward, first..., strides, kernel, begin, end);
    }
  }
};

// A function of what a primitive computes, before it is written.
inline void append_eltwise(dnnl::post_ops& post_ops, dnnl::algorithm function, float alpha, float beta) {
#if DNNL_VERSION_MAJOR >= 3
  post_ops.append_eltwise(function, alpha, beta);
#else
  post_ops.append_eltwise(1.0F, function, alpha, beta);
#endif
}

// Multiplies what a primitive computes by a constant. Version 3 takes scales at each run only, but a linear function here.
inline void scale_result(dnnl::primitive_attr& attributes, float factor) {
#if DNNL_VERSION_MAJOR >= 3
  dnnl::post_ops post_ops;
  post_ops.append_eltwise(dnnl::algorithm::eltwise_linear, factor, 0.0F);
  attributes.set_post_ops(post_ops);
#else
  attributes.set_output_scales(0, {factor});
#endif
}

// x * clip(alpha x + beta): version 2 has the usual constants built in and takes none.
struct HardSwish {
  float alpha = kIsOneDnn3 ? 1.0F / 6.0F : 0.0F;
  float beta = kIsOneDnn3 ? 0.5F : 0.0F;
};

}  // namespace sluice::kernels
