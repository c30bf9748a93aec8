// Elementwise ops: each thread serves a group of four neighbours, which one access moves (16 bytes of fp32, 8 of bf16).
//
// A thread reads its group of every input before it writes the same group of an output, so an output may lie over an
// input. Tensors begin at addresses that are aligned to a group.
#pragma once

#include <cstdint>

#include "sluice/kernels/bf16.hpp"
#include "sluice/kernels/cuda/cells.cuh"
#include "sluice/kernels/cuda/cuda_kernels.hpp"
#include "sluice/kernels/cuda/launch.cuh"

namespace sluice::kernels::cuda {

inline constexpr int kGroup = 4;

struct alignas(16) Group {
  float of[kGroup] = {};
};

struct alignas(8) HalfGroup {
  BFloat16 of[kGroup] = {};
};

// A tensor's elements by groups. The last group may be incomplete: its missing elements read as zeros.
class GroupCells {
 public:
  explicit GroupCells(const Operand& operand)
      : cells_(operand.data, operand.bf16()),
        data_(operand.data),
        elements_(operand.elements()),
        bf16_(operand.bf16()) {}

  std::int64_t groups() const { return (elements_ + kGroup - 1) / kGroup; }

  __device__ Group load(std::int64_t group) const {
    if (!complete(group)) return load_each(group);
    if (!bf16_) return static_cast<const Group*>(data_)[group];
    const HalfGroup halves = static_cast<const HalfGroup*>(data_)[group];
    Group values;
    for (int i = 0; i < kGroup; ++i) values.of[i] = to_float(halves.of[i]);
    return values;
  }

  __device__ void store(std::int64_t group, const Group& values) const {
    if (!complete(group)) {
      store_each(group, values);
    } else if (!bf16_) {
      static_cast<Group*>(data_)[group] = values;
    } else {
      HalfGroup halves;
      for (int i = 0; i < kGroup; ++i) halves.of[i] = to_bf16(values.of[i]);
      static_cast<HalfGroup*>(data_)[group] = halves;
    }
  }

 private:
  __device__ bool complete(std::int64_t group) const { return (group + 1) * kGroup <= elements_; }

  __device__ Group load_each(std::int64_t group) const {
    Group values;
    for (int i = 0; i < kGroup; ++i)
      if (group * kGroup + i < elements_) values.of[i] = cells_[group * kGroup + i];
    return values;
  }

  __device__ void store_each(std::int64_t group, const Group& values) const {
    for (int i = 0; i < kGroup; ++i)
      if (group * kGroup + i < elements_) cells_.set(group * kGroup + i, values.of[i]);
  }

  Cells cells_;
  void* data_;
  std::int64_t elements_;
  bool bf16_;
};

// The first output becomes function(the first input), element by element.
template <typename Function>
void map(const CudaCall& call, const Function& function) {
  const GroupCells x(call.input(0));
  const GroupCells y(call.output(0));
  for_each_element(call.stream, y.groups(), [=] __device__(std::int64_t group) {
    Group values = x.load(group);
    for (float& value : values.of) value = function(value);
    y.store(group, values);
  });
}

// The same of the first two inputs.
template <typename Function>
void map_pairs(const CudaCall& call, const Function& function) {
  const GroupCells a(call.input(0));
  const GroupCells b(call.input(1));
  const GroupCells y(call.output(0));
  for_each_element(call.stream, y.groups(), [=] __device__(std::int64_t group) {
    Group values = a.load(group);
    const Group others = b.load(group);
    for (int i = 0; i < kGroup; ++i) values.of[i] = function(values.of[i], others.of[i]);
    y.store(group, values);
  });
}

}  // namespace sluice::kernels::cuda
