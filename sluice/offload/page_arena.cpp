#include "sluice/offload/page_arena.hpp"

#include <optional>

#include "sluice/memory/machine.hpp"

namespace sluice {

Result<std::unique_ptr<PageArena>> PageArena::map(Bytes bytes) {
  SLUICE_ASSIGN(Arena arena, Arena::map(align_up(bytes, kTensorAlignment), "pages"));
  return std::make_unique<PageArena>(std::move(arena));
}

std::byte* PageArena::take(Bytes bytes) {
  const std::scoped_lock lock(mutex_);
  const std::optional<Bytes> begin = free_.take(align_up(bytes, kTensorAlignment));
  return begin ? arena_.data() + *begin : nullptr;
}

void PageArena::give(std::byte* pages, Bytes bytes) {
  const std::scoped_lock lock(mutex_);
  const Bytes begin = pages - arena_.data();
  free_.give({begin, begin + align_up(bytes, kTensorAlignment)});
}

}  // namespace sluice
