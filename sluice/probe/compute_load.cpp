#include "sluice/probe/compute_load.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::probe {
namespace {

constexpr Seconds kTurn = 0.03;
constexpr std::size_t kCoreShare = 64 * 1024;  // floats that a thread works on in one region: what a core's cache holds
constexpr int kPasses = 4;                     // over them: about 0.1 ms
constexpr std::size_t kFloats = 16 * 1024 * 1024;  // beyond the caches; regions walk through them

float work_on(const float* values) {
  constexpr std::size_t kLanes = 16;
  float sums[kLanes] = {};
  for (int pass = 0; pass < kPasses; ++pass) {
    for (std::size_t i = 0; i < kCoreShare; i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] = sums[lane] * 0.5F + values[i + lane];
    }
  }
  float total = 0;
  for (const float sum : sums) total += sum;
  return total;
}

}  // namespace

ComputeLoad::ComputeLoad(int threads) : threads_(threads), data_(kFloats, 1.0F) {
  // The shortest of three: others' work would pass for ours.
  while (std::min({seconds(), seconds(), seconds()}) < kTurn) regions_ *= 2;
}

void ComputeLoad::run_region() {
  const std::size_t stride = kCoreShare * as_index(threads_);
  if (at_ + stride > data_.size()) at_ = 0;
  float total = 0;
#pragma omp parallel for num_threads(threads_) schedule(static) reduction(+ : total)
  for (int thread = 0; thread < threads_; ++thread) {
    total += work_on(data_.data() + at_ + kCoreShare * as_index(thread));
  }
  at_ += stride;
  kept_ = total;
}

}  // namespace sluice::probe
