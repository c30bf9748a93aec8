// Which elements a dropout op keeps: one definition for every backend, so that they agree bit for bit.
//
// A draw depends on the run's seed, the op's stream, the step and the element's index alone. So a mask is never stored:
// the backward op, a recomputed forward op, or any part of either draws the same elements again. The step is mixed into
// the key, so no two steps share a mask. One 64-bit word serves four elements, 16 bits each; an element is dropped when
// its bits are below rate * 2^16 (rounded). Kept elements are multiplied by scale(), the reciprocal of the exact share
// that is kept, so the mean stays what it was. Pure functions; a block of four costs one mix64: a loop over blocks
// vectorises.
#pragma once

#include <cmath>
#include <cstdint>

#include "sluice/base/random.hpp"

namespace sluice::kernels {

class DropoutDraws {
 public:
  static constexpr std::uint64_t kBlock = 4;  // elements of one draw

  // `rate` is the share to drop, in [0, 1].
  DropoutDraws(std::uint64_t seed, std::uint64_t stream, std::int64_t step, float rate)
      : key_(random_bits(seed, stream, static_cast<std::uint64_t>(step))),
        threshold_(static_cast<std::uint32_t>(std::lround(static_cast<double>(rate) * 65536.0))),
        scale_(threshold_ < 65536 ? static_cast<float>(65536.0 / (65536.0 - threshold_)) : 0.0F) {}

  // The bits of elements [4 block, 4 block + 4), the first one's lowest.
  std::uint64_t bits(std::uint64_t block) const { return mix64(key_ + 0x9e3779b97f4a7c15ULL * (block + 1)); }

  // Whether the element at `position` of a block with these bits is kept.
  bool keeps(std::uint64_t block_bits, unsigned position) const {
    return static_cast<std::uint32_t>((block_bits >> (16 * position)) & 0xffff) >= threshold_;
  }
  bool keeps(std::uint64_t element) const {
    return keeps(bits(element / kBlock), static_cast<unsigned>(element % kBlock));
  }

  std::uint32_t threshold() const { return threshold_; }  // bits below it are dropped
  float scale() const { return scale_; }

 private:
  std::uint64_t key_;
  std::uint32_t threshold_;
  float scale_;
};

}  // namespace sluice::kernels
