// Ops that only move elements. They move words: as many bytes at a time, up to 16, as all runs of elements can be cut
// into. So elements of any size take the same way.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sluice/kernels/cuda/activation.cuh"
#include "sluice/kernels/cuda/cells.cuh"
#include "sluice/kernels/cuda/cuda_kernels.hpp"
#include "sluice/kernels/cuda/divisor.cuh"
#include "sluice/kernels/cuda/launch.cuh"
#include "sluice/kernels/cuda/operands.cuh"
#include "sluice/kernels/cuda/strided.cuh"

namespace sluice::kernels::cuda {
namespace {

struct alignas(8) Word8 {
  std::uint32_t of[2];
};
struct alignas(16) Word16 {
  std::uint32_t of[4];
};

// Calls move(a word) of the largest type whose size divides `bytes`. For several numbers of bytes that is their
// bitwise or: a power of two divides it if it divides each of them.
template <typename Move>
void with_words(std::uint64_t bytes, const Move& move) {
  if (bytes % 16 == 0) return move(Word16{});
  if (bytes % 8 == 0) return move(Word8{});
  if (bytes % 4 == 0) return move(std::uint32_t{});
  if (bytes % 2 == 0) return move(std::uint16_t{});
  move(std::uint8_t{});
}

std::uint64_t address(const void* data) { return reinterpret_cast<std::uintptr_t>(data); }

// Runs of `width` bytes, which go to `begin` of the rows of a tensor. All numbers are of bytes.
struct Rectangle {
  const std::byte* from;
  std::byte* to;
  std::int64_t rows, width;
  std::int64_t from_pitch, to_pitch;  // from row to row
  std::int64_t begin = 0;

  std::uint64_t alignment() const {
    return address(from) | address(to) | static_cast<std::uint64_t>(width | from_pitch | to_pitch | begin);
  }

  template <typename Word>
  Rectangle in_words() const {
    constexpr std::int64_t kSize = sizeof(Word);
    return {from, to, rows, width / kSize, from_pitch / kSize, to_pitch / kSize, begin / kSize};
  }
};

template <typename Word>
void copy_words(cudaStream_t stream, const Rectangle& bytes) {
  const Rectangle words = bytes.in_words<Word>();
  const auto* const from = reinterpret_cast<const Word*>(words.from);
  auto* const to = reinterpret_cast<Word*>(words.to) + words.begin;
  const Divisor by_width(std::max<std::int64_t>(words.width, 1));
  for_each_element(stream, words.rows * words.width, [=] __device__(std::int64_t i) {
    const std::int64_t row = by_width.quotient(i);
    const std::int64_t column = i - row * words.width;
    to[row * words.to_pitch + column] = from[row * words.from_pitch + column];
  });
}

void copy_rectangle(cudaStream_t stream, const Rectangle& part) {
  const bool one_run = part.rows == 1 || (part.from_pitch == part.width && part.to_pitch == part.width);
  if (!one_run) {
    with_words(part.alignment(), [&](auto word) { copy_words<decltype(word)>(stream, part); });
    return;
  }
  const auto bytes = static_cast<std::size_t>(part.rows * part.width);
  check(cudaMemcpyAsync(part.to + part.begin, part.from, bytes, cudaMemcpyDeviceToDevice, stream), "a copy");
}

// The whole rows of the tensor that the rectangle goes to, zero outside it.
template <typename Word>
void pad_words(cudaStream_t stream, const Rectangle& bytes) {
  const Rectangle words = bytes.in_words<Word>();
  const auto* const from = reinterpret_cast<const Word*>(words.from);
  auto* const to = reinterpret_cast<Word*>(words.to);
  const Divisor by_pitch(std::max<std::int64_t>(words.to_pitch, 1));
  for_each_element(stream, words.rows * words.to_pitch, [=] __device__(std::int64_t i) {
    const std::int64_t row = by_pitch.quotient(i);
    const std::int64_t column = i - row * words.to_pitch - words.begin;
    to[i] = column >= 0 && column < words.width ? from[row * words.from_pitch + column] : Word{};
  });
}

// How many elements one index of dimension `axis` stands for.
std::int64_t elements_of_index(const Operand& operand, std::size_t axis) {
  std::int64_t elements = 1;
  for (std::size_t d = axis + 1; d < operand.shape->size(); ++d) elements *= operand.shape->at(d);
  return elements;
}

// All of `part` goes to index `begin` of `axis` in `whole`.
Rectangle into(const Operand& part, const Operand& whole, std::size_t axis, std::int64_t begin) {
  const std::int64_t index = elements_of_index(part, axis) * size_of(part.dtype);
  const std::int64_t width = part.shape->at(axis) * index;
  return {.from = static_cast<const std::byte*>(part.data),
          .to = static_cast<std::byte*>(whole.data),
          .rows = part.elements() * size_of(part.dtype) / std::max<std::int64_t>(width, 1),
          .width = width,
          .from_pitch = width,
          .to_pitch = whole.shape->at(axis) * index,
          .begin = begin * index};
}

// What lies at index `begin` of `axis` in `whole` is copied to all of `part`.
Rectangle out_of(const Operand& whole, const Operand& part, std::size_t axis, std::int64_t begin) {
  const Rectangle back = into(part, whole, axis, begin);
  return {.from = static_cast<const std::byte*>(whole.data) + back.begin,
          .to = static_cast<std::byte*>(part.data),
          .rows = back.rows,
          .width = back.width,
          .from_pitch = back.to_pitch,
          .to_pitch = back.width};
}

std::size_t axis_of(const CudaCall& call) { return static_cast<std::size_t>(graph::axis_of(call.op.attributes)); }

// `from` holds the output's elements in their order, each at its place in the input.
template <typename Word>
void gather_words(const CudaCall& call, const Strided& from) {
  const auto* const x = static_cast<const Word*>(call.input(0).data);
  auto* const y = static_cast<Word*>(call.output(0).data);
  const std::int64_t bytes = call.output(0).elements() * size_of(call.output(0).dtype);
  for_each_element(call.stream, bytes / static_cast<std::int64_t>(sizeof(Word)),
                   [=] __device__(std::int64_t i) { y[i] = x[from(i)]; });
}

void transpose(const CudaCall& call) {
  const graph::Shape& axes = call.as<graph::TransposeAttributes>().axes;
  const graph::Shape own = strides_of(*call.input(0).shape);
  graph::Shape strides = own;
  for (std::size_t d = 0; d < axes.size(); ++d) strides[d] = own.at(static_cast<std::size_t>(axes[d]));
  const Strided from(*call.output(0).shape, strides);
  const Bytes size = graph::size_of(call.output(0).dtype);
  const auto run = static_cast<std::uint64_t>(from.last_run() * size);
  with_words(run | address(call.input(0).data) | address(call.output(0).data), [&](auto word) {
    gather_words<decltype(word)>(call, from.in_units(static_cast<std::int64_t>(sizeof(word)) / size));
  });
}

void concat_activated(const CudaCall& call, const Operand& part, std::int64_t begin) {
  const std::int64_t index = elements_of_index(part, axis_of(call));
  const std::int64_t width = part.shape->at(axis_of(call)) * index;
  const std::int64_t pitch = call.output(0).shape->at(axis_of(call)) * index;
  const std::int64_t first = begin * index;
  const graph::Activation activation = call.as<graph::ConcatAttributes>().activation;
  const Cells x = cells(part);
  const Cells y = cells(call.output(0));
  const Divisor by_width(std::max<std::int64_t>(width, 1));
  for_each_element(call.stream, part.elements(), [=] __device__(std::int64_t i) {
    const std::int64_t row = by_width.quotient(i);
    y.set(row * pitch + first + i - row * width, activate(activation, x[i]));
  });
}

void concat(const CudaCall& call) {
  std::int64_t begin = 0;
  for (const Operand& part : call.inputs) {
    if (call.as<graph::ConcatAttributes>().activation == graph::Activation::kNone) {
      copy_rectangle(call.stream, into(part, call.output(0), axis_of(call), begin));
    } else {
      concat_activated(call, part, begin);
    }
    begin += part.shape->at(axis_of(call));
  }
}

void slice(const CudaCall& call) {
  const std::int64_t begin = call.as<graph::PartAttributes>().begin;
  copy_rectangle(call.stream, out_of(call.input(0), call.output(0), axis_of(call), begin));
}

void pad(const CudaCall& call) {
  const Rectangle part = into(call.input(0), call.output(0), axis_of(call), call.as<graph::PartAttributes>().begin);
  with_words(part.alignment(), [&](auto word) { pad_words<decltype(word)>(call.stream, part); });
}

void slice_batch(const CudaCall& call) {
  copy_rectangle(call.stream, out_of(call.input(0), call.output(0), 0, call.slice().begin));
}

void place_batch(const CudaCall& call) {
  copy_rectangle(call.stream, into(call.input(0), call.output(0), 0, call.slice().begin));
}

}  // namespace

KernelEntries movement_kernels() {
  return {
      {graph::OpKind::kTranspose, transpose},
      {graph::OpKind::kConcat, concat},
      {graph::OpKind::kSlice, slice},
      {graph::OpKind::kPad, pad},
      {graph::OpKind::kSliceBatch, slice_batch},
      {graph::OpKind::kPlaceBatch, place_batch},
  };
}

}  // namespace sluice::kernels::cuda
