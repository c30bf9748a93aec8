#include "sluice/base/as_index.hpp"
#include "sluice/kernels/reference/reference_kernels.hpp"

namespace sluice::kernels {
namespace {

// Which part of the layer an op computes: `count` output features from `begin`, of `total`.
struct ReferenceDenseSpace {
  std::size_t rows;
  std::size_t in;
  std::size_t total;
  std::size_t begin;
  std::size_t count;
};

ReferenceDenseSpace dense_space(const graph::Slice& slice, const graph::Shape& x, const graph::Shape& w,
                                const graph::Shape& y) {
  const auto in = as_index(w[1]);
  const auto count = as_index(w[0]);
  const auto rows = as_index(graph::element_count(x)) / in;
  const auto total = as_index(graph::element_count(y)) / rows;
  return {rows, in, total, as_index(slice.begin), count};
}

void dense(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto w = call.input<float>(1);
  const auto y = call.output<float>(0);
  const ReferenceDenseSpace space =
      dense_space(call.slice(), call.input_shape(0), call.input_shape(1), call.output_shape(0));
  const bool has_bias = call.input_count() - (call.slice().partial ? 1 : 0) == 3;
  for (std::size_t n = 0; n < space.rows; ++n)
    for (std::size_t o = 0; o < space.count; ++o) {
      double sum = has_bias ? call.input<float>(2)[o] : 0.0F;
      for (std::size_t i = 0; i < space.in; ++i) sum += double{x[n * space.in + i]} * w[o * space.in + i];
      y[n * space.total + space.begin + o] = static_cast<float>(sum);
    }
}

void dense_backward_data(const ReferenceCall& call) {
  const auto dy = call.input<float>(0);
  const auto w = call.input<float>(1);
  const auto dx = call.output<float>(0);
  const ReferenceDenseSpace space =
      dense_space(call.slice(), call.output_shape(0), call.input_shape(1), call.input_shape(0));
  for (std::size_t n = 0; n < space.rows; ++n)
    for (std::size_t i = 0; i < space.in; ++i) {
      double sum = call.slice().partial ? call.input<float>(2)[n * space.in + i] : 0.0F;
      for (std::size_t o = 0; o < space.count; ++o)
        sum += double{dy[n * space.total + space.begin + o]} * w[o * space.in + i];
      dx[n * space.in + i] = static_cast<float>(sum);
    }
}

void dense_backward_weights(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto dy = call.input<float>(1);
  const auto dw = call.output<float>(0);
  const bool accumulate = call.slice().accumulate;
  const ReferenceDenseSpace space =
      dense_space(call.slice(), call.input_shape(0), call.output_shape(0), call.input_shape(1));
  for (std::size_t o = 0; o < space.count; ++o) {
    const auto gradient = [&](std::size_t n) { return double{dy[n * space.total + space.begin + o]}; };
    for (std::size_t i = 0; i < space.in; ++i) {
      double sum = accumulate ? call.input<float>(2)[o * space.in + i] : 0.0F;
      for (std::size_t n = 0; n < space.rows; ++n) sum += gradient(n) * x[n * space.in + i];
      dw[o * space.in + i] = static_cast<float>(sum);
    }
    if (call.output_count() < 2) continue;
    double sum = accumulate ? call.input<float>(3)[o] : 0.0F;
    for (std::size_t n = 0; n < space.rows; ++n) sum += gradient(n);
    call.output<float>(1)[o] = static_cast<float>(sum);
  }
}

}  // namespace

SLUICE_REFERENCE_KERNEL(kDense, dense)
SLUICE_REFERENCE_KERNEL(kDenseBackwardData, dense_backward_data)
SLUICE_REFERENCE_KERNEL(kDenseBackwardWeights, dense_backward_weights)

}  // namespace sluice::kernels
