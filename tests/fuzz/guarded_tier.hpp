// A tier's memory between pages that nobody may touch: one byte below, above, or between stitches, and the process dies
// where it stands.
#pragma once

#include <cstddef>
#include <span>

#include "sluice/memory/stitch.hpp"

namespace sluice::tests {

class GuardedTier {
 public:
  // `bytes` are rounded down to pages, as an arena's are (memory/arena.hpp).
  GuardedTier(Bytes bytes, std::span<const memory::Stitch> stitches);
  ~GuardedTier();
  GuardedTier(GuardedTier&& other) noexcept;
  GuardedTier& operator=(GuardedTier&&) = delete;

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  Bytes addresses_ = 0;
};

}  // namespace sluice::tests
