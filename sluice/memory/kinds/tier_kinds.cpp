#include <array>

#include "sluice/memory/tier_kind.hpp"

namespace sluice::memory {

// Kinds that nobody names but this table.
extern const TierKind kMemfd;

std::span<const TierKind> tier_kinds() {
  static const std::array kTable{
      TierKind::kDram, TierKind::kFile, TierKind::kEmulated, TierKind::kNuma, TierKind::kGpu, TierKind::kPinned, kMemfd,
  };
  return kTable;
}

}  // namespace sluice::memory
