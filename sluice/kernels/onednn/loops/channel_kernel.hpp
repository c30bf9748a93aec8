// What the kernels of batch norms share: how x is cut into runs, and which thread does what.
//
// Memory sets their speed. Each thread takes a block of channels and does both passes on it before the next block, so
// that the second pass finds the block in cache. With too few blocks for the threads, all threads share the runs of all
// blocks, pass by pass. Sums are made per run (channel_sweep.hpp) and then over the samples in order, in fp64, so that
// no bits depend on the number of threads.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "sluice/kernels/onednn/kernel/kernel.hpp"
#include "sluice/kernels/onednn/loops/channel_sweep.hpp"

namespace sluice::kernels {

class ChannelKernel : public Kernel {
 protected:
  ChannelKernel(const KernelRequest& request, const Layout& data)
      : runs_(data, request.inputs[0].shape),
        activation_(request.as<graph::NormAttributes>().activation),
        epsilon_(request.as<graph::NormAttributes>().epsilon),
        by_block_(runs_.blocks % omp_get_max_threads() == 0 || runs_.blocks >= 4 * omp_get_max_threads()),
        stream_(runs_.blocked && bytes_of(data) >= kStreamedBytes) {
    implementation = "loop";
    inputs = plain_layouts(request.inputs);
    outputs = plain_layouts(request.outputs);
    inputs[0] = data;
  }

  // x's own layout where it is one that we read, else the blocked one.
  static Layout data_layout(const OperandRequest& x) {
    if (!x.layout) return preferred_image_layout(x.shape, x.dtype);
    return is_plain(*x.layout) || is_blocked_image(*x.layout) ? *x.layout : blocked_image_layout(x.shape, x.dtype);
  }

  void need_sums() {
    if (!by_block_) workspace_bytes = runs_.samples * runs_.blocks * Bytes{sizeof(LaneSums)};
  }

  // For each block of channels: the sums of all samples by `summing(block)(sample, sums)`, then `finish(block,
  // totals)`, then `applying(block)(sample)` on all samples.
  template <typename Summing, typename Finish, typename Applying>
  void sweep(void* workspace, const Summing& summing, const Finish& finish, const Applying& applying) const {
    if (by_block_) {
#pragma omp parallel for schedule(static)
      for (std::int64_t block = 0; block < runs_.blocks; ++block) {
        sum_block(block, summing, finish);
        const auto apply = applying(block);
        // Backwards: the last samples read are those still in the nearest cache.
        for (std::int64_t sample = runs_.samples; sample-- > 0;) apply(sample);
        if (stream_) finish_streaming();
      }
      return;
    }
#pragma omp parallel
    {
      share_sums(workspace, summing, finish);
      share_runs(applying);
    }
  }

  // The first half of a sweep alone.
  template <typename Summing, typename Finish>
  void sweep_sums(void* workspace, const Summing& summing, const Finish& finish) const {
    if (by_block_) {
#pragma omp parallel for schedule(static)
      for (std::int64_t block = 0; block < runs_.blocks; ++block) sum_block(block, summing, finish);
      return;
    }
#pragma omp parallel
    share_sums(workspace, summing, finish);
  }

  // The second half alone.
  template <typename Applying>
  void sweep_runs(const Applying& applying) const {
#pragma omp parallel
    share_runs(applying);
  }

  // Sums over the lanes too, where all belong to one channel.
  double total(const double* lanes, std::int64_t lane) const {
    if (runs_.blocked) return lanes[lane];
    double sum = 0;
    for (std::int64_t i = 0; i < kLanes; ++i) sum += lanes[i];
    return sum;
  }

  // Elements of a channel in x.
  double count() const { return static_cast<double>(runs_.samples * runs_.pixels); }
  // Lanes of a block that stand for a channel each.
  std::int64_t lanes() const { return runs_.blocked ? kLanes : 1; }

  // From the statistics of a block's channels; zero in padding, so that padding stays zero.
  Normalization normalization(std::int64_t block, const float* scale_shift, const float* stats) const {
    Normalization result{};
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const std::int64_t channel = runs_.channel(block, lane);
      if (channel < 0) continue;
      result.mean.value[lane] = stats[channel];
      result.factor.value[lane] = scale_shift[channel] * inverse_deviation(stats[runs_.channels + channel]);
      result.shift.value[lane] = scale_shift[runs_.channels + channel];
    }
    return result;
  }

  float inverse_deviation(float variance) const {
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(variance) + static_cast<double>(epsilon_)));
  }

  ChannelRuns runs_;
  graph::Activation activation_;
  float epsilon_;
  bool by_block_;
  bool stream_;

 private:
  template <typename Summing, typename Finish>
  void sum_block(std::int64_t block, const Summing& summing, const Finish& finish) const {
    LaneSums total{};
    LaneSums part;
    const auto sum = summing(block);
    for (std::int64_t sample = 0; sample < runs_.samples; ++sample) {
      sum(sample, part);
      add(part, total);
    }
    finish(block, total);
  }

  // Called by all threads of a team: each does its share.
  template <typename Summing, typename Finish>
  void share_sums(void* workspace, const Summing& summing, const Finish& finish) const {
    auto* parts = static_cast<LaneSums*>(workspace);
#pragma omp for schedule(static)
    for (std::int64_t run = 0; run < runs_.samples * runs_.blocks; ++run)
      summing(run % runs_.blocks)(run / runs_.blocks, parts[run]);
#pragma omp for schedule(static)
    for (std::int64_t block = 0; block < runs_.blocks; ++block) {
      LaneSums total{};
      for (std::int64_t sample = 0; sample < runs_.samples; ++sample) add(parts[sample * runs_.blocks + block], total);
      finish(block, total);
    }
  }

  template <typename Applying>
  void share_runs(const Applying& applying) const {
#pragma omp for schedule(static)
    for (std::int64_t run = 0; run < runs_.samples * runs_.blocks; ++run)
      applying(run % runs_.blocks)(run / runs_.blocks);
    if (stream_) finish_streaming();
  }

  static void add(const LaneSums& part, LaneSums& total) {
    for (std::int64_t i = 0; i < kLanes; ++i) total.first[i] += part.first[i];
    for (std::int64_t i = 0; i < kLanes; ++i) total.second[i] += part.second[i];
  }
};

// The kernel for x's dtype.
template <template <typename> typename KernelOf>
KernelPtr make_for_dtype(const KernelRequest& request) {
  if (request.inputs[0].dtype == graph::DType::kBF16) return std::make_unique<KernelOf<BFloat16>>(request);
  if (request.inputs[0].dtype == graph::DType::kF16) return std::make_unique<KernelOf<Float16>>(request);
  return std::make_unique<KernelOf<float>>(request);
}

}  // namespace sluice::kernels
