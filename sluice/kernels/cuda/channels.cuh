// The channels of an [N, C, ...] tensor. A channel is N runs ("planes") of contiguous elements.
//
// A pass over channels moves packs of neighbours: of four elements where a plane is a whole number of such packs,
// of one otherwise. A block keeps to one channel, so what is the same in all of a channel is made once, and a thread
// reads several packs before it uses the first. How the work is cut depends on shapes alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "sluice/graph/ops/tensor.hpp"
#include "sluice/kernels/bf16.hpp"
#include "sluice/kernels/cuda/divisor.cuh"
#include "sluice/kernels/cuda/groups.cuh"
#include "sluice/kernels/cuda/launch.cuh"
#include "sluice/kernels/cuda/operands.cuh"

namespace sluice::kernels::cuda {

struct Images {
  std::int64_t samples, channels, pixels;

  explicit Images(const graph::Shape& shape)
      : samples(shape[0]),
        channels(shape[1]),
        pixels(graph::element_count(shape) / std::max<std::int64_t>(shape[0] * shape[1], 1)) {}

  std::int64_t in_channel() const { return samples * pixels; }
};

// N neighbours, as kernels compute with them.
template <int N>
struct Pack {
  float of[N] = {};
};

__device__ inline float as_float(float value) { return value; }
__device__ inline float as_float(BFloat16 value) { return to_float(value); }
__device__ inline void assign(float& to, float value) { to = value; }
// As to_bf16() rounds, without branches.
__device__ inline void assign(BFloat16& to, float value) {
  const std::uint32_t bits = __float_as_uint(value);
  const std::uint32_t quiet = (bits >> 16) | 0x40U;
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  to.bits = static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet : rounded);
}

// A tensor's packs of N elements, each moved by one access.
template <typename Element, int N>
class PacksOf {
 public:
  static constexpr int kWidth = N;
  using Single = PacksOf<Element, 1>;
  struct alignas(N * sizeof(Element)) Stored {
    Element of[N] = {};
  };

  explicit PacksOf(const Operand& operand) : data_(static_cast<Stored*>(operand.data)) {}

  __device__ Stored read(std::int64_t i) const { return data_[i]; }
  __device__ static Pack<N> values(const Stored& stored) {
    Pack<N> pack;
    for (int i = 0; i < N; ++i) pack.of[i] = as_float(stored.of[i]);
    return pack;
  }
  __device__ void write(std::int64_t i, const Pack<N>& pack) const {
    Stored stored;
    for (int j = 0; j < N; ++j) assign(stored.of[j], pack.of[j]);
    data_[i] = stored;
  }

 private:
  Stored* data_;
};

// The same for a tensor of either type, moved element by element.
template <int N>
class AnyPacks {
 public:
  static constexpr int kWidth = N;
  using Single = AnyPacks<1>;
  using Stored = Pack<N>;

  explicit AnyPacks(const Operand& operand) : cells_(cells(operand)) {}

  __device__ Stored read(std::int64_t i) const {
    Stored pack;
    for (int j = 0; j < N; ++j) pack.of[j] = cells_[i * N + j];
    return pack;
  }
  __device__ static Pack<N> values(const Stored& stored) { return stored; }
  __device__ void write(std::int64_t i, const Pack<N>& pack) const {
    for (int j = 0; j < N; ++j) cells_.set(i * N + j, pack.of[j]);
  }

 private:
  Cells cells_;
};

// run(std::type_identity<how to access the packs of N elements of all these operands>).
template <int N, typename Run>
void with_packs_of(std::initializer_list<Operand> operands, const Run& run) {
  const auto halves = std::count_if(operands.begin(), operands.end(), [](const Operand& each) { return each.bf16(); });
  if (halves == 0) {
    run(std::type_identity<PacksOf<float, N>>());
  } else if (halves == static_cast<std::ptrdiff_t>(operands.size())) {
    run(std::type_identity<PacksOf<BFloat16, N>>());
  } else {
    run(std::type_identity<AnyPacks<N>>());
  }
}

// Elements of a pack, where runs of so many neighbours are cut into packs.
inline int pack_of_run(std::int64_t length) { return length % kGroup == 0 ? kGroup : 1; }

template <typename Run>
void with_packs(std::int64_t length_of_run, std::initializer_list<Operand> operands, const Run& run) {
  if (pack_of_run(length_of_run) == kGroup) {
    with_packs_of<kGroup>(operands, run);
  } else {
    with_packs_of<1>(operands, run);
  }
}

inline constexpr int kPacksAtOnce = 4;  // that a thread reads from every tensor before it uses the first

// What a thread reads at once. Where fewer packs are left, the first stands in for those that are missing.
struct Batch {
  std::int64_t at[kPacksAtOnce];
  int packs = 0;
};

// How the channels are cut among blocks. Lengths are in packs.
class ChannelParts {
 public:
  explicit ChannelParts(const Images& images)
      : channels_(images.channels),
        plane_(images.pixels / pack_of_run(images.pixels)),
        length_(images.samples * plane_),
        size_(size_of_part(channels_, length_)),
        parts_(std::max<std::int64_t>((length_ + size_ - 1) / size_, 1)),
        by_channels_(std::max<std::int64_t>(channels_, 1)),
        by_plane_(std::max<std::int64_t>(plane_, 1)),
        step_(kThreads / std::max<std::int64_t>(plane_, 1) * channels_ * plane_),
        step_in_plane_(kThreads % std::max<std::int64_t>(plane_, 1)) {}

  __host__ __device__ std::int64_t channels() const { return channels_; }
  __host__ __device__ std::int64_t parts() const { return parts_; }  // of a channel
  // Blocks go through memory from one end to the other: through a part of every channel, then through the next part.
  std::int64_t blocks() const { return parts_ * channels_; }
  __device__ std::int64_t part(std::int64_t block) const { return by_channels_.quotient(block); }

  // visit(batch) for the packs that are a thread's, of a part of channel c. Stepping from one to the next takes no
  // division.
  template <typename Visit>
  __device__ void for_each_batch(std::int64_t c, std::int64_t part, int thread, const Visit& visit) const {
    const std::int64_t begin = part * size_;
    const int count = static_cast<int>(min(static_cast<std::int64_t>(size_), length_ - begin));
    const std::int64_t sample = by_plane_.quotient(begin + thread);
    std::int64_t in_plane = begin + thread - sample * plane_;
    std::int64_t at = (sample * channels_ + c) * plane_ + in_plane;
    for (int k = thread; k < count; k += kPacksAtOnce * kThreads) {
      Batch batch;
#pragma unroll
      for (int i = 0; i < kPacksAtOnce; ++i) {
        const bool present = k + i * kThreads < count;
        batch.at[i] = present ? at : batch.at[0];
        batch.packs += present ? 1 : 0;
        at += step_ + step_in_plane_;
        in_plane += step_in_plane_;
        if (in_plane < plane_) continue;
        in_plane -= plane_;
        at += (channels_ - 1) * plane_;
      }
      visit(batch);
    }
  }

 private:
  // Whole batches for every thread: one, or two where the device is full without.
  static int size_of_part(std::int64_t channels, std::int64_t length) {
    constexpr std::int64_t kWantedBlocks = 1024;
    constexpr std::int64_t kMostBatches = 2;
    constexpr std::int64_t kBatchOfBlock = kPacksAtOnce * kThreads;
    const std::int64_t batches = channels * length / (kWantedBlocks * kBatchOfBlock);
    return static_cast<int>(std::clamp<std::int64_t>(batches, 1, kMostBatches) * kBatchOfBlock);
  }

  std::int64_t channels_, plane_, length_;
  int size_;
  std::int64_t parts_;
  Divisor by_channels_, by_plane_;
  std::int64_t step_, step_in_plane_;  // to a thread's next pack, where it is in the same plane or as many planes on
};

// What one thread brings to the sums of a part of a channel.
template <int N, typename Channel>
__device__ Sums<N> sums_of_thread(const ChannelParts& cut, const Channel& channel, std::int64_t c, std::int64_t part,
                                  int thread) {
  Sums<N> sums;
  cut.for_each_batch(c, part, thread, [&](const Batch& batch) {
    typename Channel::Loaded loaded[kPacksAtOnce];
#pragma unroll
    for (int i = 0; i < kPacksAtOnce; ++i) loaded[i] = channel.load(batch.at[i]);
#pragma unroll
    for (int i = 0; i < kPacksAtOnce; ++i)
      if (i < batch.packs) channel.add(loaded[i], sums);
  });
  return sums;
}

// Of sum_channels().
template <int N>
std::int64_t sum_channels_workspace(const Images& images) {
  return ChannelParts(images).blocks() * static_cast<std::int64_t>(sizeof(Sums<N>));
}

// store(c, sums of channel c), by one thread for each channel. of_channel(c) is what loads a pack of the channel's and
// adds it to the sums.
template <int N, typename OfChannel, typename Store>
void sum_channels(cudaStream_t stream, const Images& images, void* workspace, const OfChannel& of_channel,
                  const Store& store) {
  const ChannelParts cut(images);
  auto* const partial = static_cast<Sums<N>*>(workspace);
  for_each_row(stream, cut.blocks(), [=] __device__(std::int64_t i, Block & block) {
    const std::int64_t part = cut.part(i);
    const std::int64_t c = i - part * cut.channels();
    const auto channel = of_channel(c);
    const Sums<N> sums =
        block.template sums_of_threads<N>([&](int thread) { return sums_of_thread<N>(cut, channel, c, part, thread); });
    if (!block.leads()) return;
    if (cut.parts() == 1)
      store(c, sums);
    else
      partial[c * cut.parts() + part] = sums;
  });
  if (cut.parts() == 1) return;
  for_each_row(stream, images.channels, [=] __device__(std::int64_t c, Block & block) {
    const Sums<N> sums =
        block.template sums<N>(cut.parts(), [&](std::int64_t part) { return partial[c * cut.parts() + part]; });
    if (block.leads()) store(c, sums);
  });
}

// Every pack is loaded and stored by of_channel(its channel). An output may lie over an input. The last blocks come
// first: what a pass over the same tensors has read last is the likeliest to be still in the cache.
template <typename OfChannel>
void for_each_in_channels(cudaStream_t stream, const Images& images, const OfChannel& of_channel) {
  const ChannelParts cut(images);
  const std::int64_t last = cut.blocks() - 1;
  for_each_row(stream, cut.blocks(), [=] __device__(std::int64_t i, Block & block) {
    const std::int64_t part = cut.part(last - i);
    const std::int64_t c = last - i - part * cut.channels();
    const auto channel = of_channel(c);
    block.for_each_thread([&](int thread) {
      cut.for_each_batch(c, part, thread, [&](const Batch& batch) {
        typename std::remove_const_t<decltype(channel)>::Loaded loaded[kPacksAtOnce];
#pragma unroll
        for (int k = 0; k < kPacksAtOnce; ++k) loaded[k] = channel.load(batch.at[k]);
#pragma unroll
        for (int k = 0; k < kPacksAtOnce; ++k)
          if (k < batch.packs) channel.store(batch.at[k], loaded[k]);
      });
    });
  });
}

}  // namespace sluice::kernels::cuda
