// Ops that only move elements: 32-bit words or bytes, so that fp32 and i32 tensors take the same way.
#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/kernels/reference/index_space.hpp"
#include "sluice/kernels/reference/reference_kernels.hpp"

namespace sluice::kernels {
namespace {

using Word = std::uint32_t;

void copy(const ReferenceCall& call) {
  const auto x = call.input_bytes(0);
  std::copy(x.begin(), x.end(), call.output_bytes(0).begin());
}

// Integers as fp32. Tensors of 16 bits come as fp32 and leave so (reference_backend.cpp).
void cast(const ReferenceCall& call) {
  if (!call.input_is_integer(0)) return copy(call);
  const auto x = call.input<std::int32_t>(0);
  std::transform(x.begin(), x.end(), call.output<float>(0).begin(),
                 [](std::int32_t value) { return static_cast<float>(value); });
}

void sparse_product(const ReferenceCall& call) {
  const auto& sparse = call.as<graph::SparseAttributes>();
  const graph::SparseMatrix& matrix = *sparse.matrix;
  const auto x = call.input<float>(0);
  const auto y = call.output<float>(0);
  const auto axis = as_index(sparse.axis);
  for_each_index(call.output_shape(0), [&](const graph::Shape& index, std::size_t i) {
    double sum = 0;
    graph::Shape source = index;
    const auto row = as_index(index[axis]);
    for (auto term = as_index(matrix.row_starts[row]); term < as_index(matrix.row_starts[row + 1]); ++term) {
      source[axis] = matrix.column_of[term];
      sum += double{matrix.values[term]} * x[offset_of(call.input_shape(0), source)];
    }
    y[i] = static_cast<float>(sum);
  });
}

void transpose(const ReferenceCall& call) {
  const auto x = call.input<Word>(0);
  const auto y = call.output<Word>(0);
  for_each_index(call.output_shape(0), [&](const graph::Shape& index, std::size_t i) {
    y[i] = x[offset_of(call.input_shape(0), unpermuted(index, call.as<graph::TransposeAttributes>().axes))];
  });
}

void concat(const ReferenceCall& call) {
  const auto y = call.output<float>(0);
  const auto& attributes = call.as<graph::ConcatAttributes>();
  const auto axis = as_index(attributes.axis);
  std::int64_t begin = 0;
  for (std::size_t part = 0; part < call.input_count(); ++part) {
    const auto x = call.input<float>(part);
    for_each_index(call.input_shape(part), [&](const graph::Shape& index, std::size_t i) {
      graph::Shape target = index;
      target.at(axis) += begin;
      y[offset_of(call.output_shape(0), target)] = static_cast<float>(activate(attributes.activation, x[i]));
    });
    begin += call.input_shape(part).at(axis);
  }
}

void slice(const ReferenceCall& call) {
  const auto& part = call.as<graph::PartAttributes>();
  const auto x = call.input<Word>(0);
  const auto y = call.output<Word>(0);
  for_each_index(call.output_shape(0), [&](const graph::Shape& index, std::size_t i) {
    graph::Shape source = index;
    source.at(as_index(part.axis)) += part.begin;
    y[i] = x[offset_of(call.input_shape(0), source)];
  });
}

void pad(const ReferenceCall& call) {
  const auto& part = call.as<graph::PartAttributes>();
  const auto x = call.input<Word>(0);
  const auto y = call.output<Word>(0);
  std::fill(y.begin(), y.end(), Word{0});
  for_each_index(call.input_shape(0), [&](const graph::Shape& index, std::size_t i) {
    graph::Shape target = index;
    target.at(as_index(part.axis)) += part.begin;
    y[offset_of(call.output_shape(0), target)] = x[i];
  });
}

void slice_batch(const ReferenceCall& call) {
  const auto y = call.output_bytes(0);
  const std::size_t sample = y.size() / as_index(call.output_shape(0)[0]);
  const auto part = call.input_bytes(0).subspan(as_index(call.slice().begin) * sample);
  std::copy_n(part.begin(), y.size(), y.begin());
}

void place_batch(const ReferenceCall& call) {
  const auto y = call.input_bytes(0);
  const std::size_t sample = y.size() / as_index(call.input_shape(0)[0]);
  const auto part = call.output_bytes(0).subspan(as_index(call.slice().begin) * sample);
  std::copy(y.begin(), y.end(), part.begin());
}

}  // namespace

SLUICE_REFERENCE_KERNEL(kReshape, copy)
SLUICE_REFERENCE_KERNEL(kReorder, copy)
SLUICE_REFERENCE_KERNEL(kCast, cast)
SLUICE_REFERENCE_KERNEL(kTranspose, transpose)
SLUICE_REFERENCE_KERNEL(kConcat, concat)
SLUICE_REFERENCE_KERNEL(kSlice, slice)
SLUICE_REFERENCE_KERNEL(kPad, pad)
SLUICE_REFERENCE_KERNEL(kSparseProduct, sparse_product)
SLUICE_REFERENCE_KERNEL(kSliceBatch, slice_batch)
SLUICE_REFERENCE_KERNEL(kPlaceBatch, place_batch)

}  // namespace sluice::kernels
