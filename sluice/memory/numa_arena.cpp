#include "sluice/memory/numa_arena.hpp"

#include <fmt/format.h>
#include <numa.h>
#include <numaif.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/memory/page_mover.hpp"

namespace sluice::memory {
namespace {

// Touched, looked for and moved at once: what lies on other nodes for a moment is never more.
constexpr Bytes kPortion = 64 * kMiB;

struct FreeNodeMask {
  void operator()(bitmask* mask) const { ::numa_bitmask_free(mask); }
};

Status set_policy(const Arena& arena, int mode, const std::string& tier, int node) {
  const std::unique_ptr<bitmask, FreeNodeMask> mask(::numa_allocate_nodemask());
  if (node < 0 || node >= static_cast<int>(mask->size)) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("tier '{}' names memory node {}, which does not exist on this machine", tier, node)};
  }
  ::numa_bitmask_setbit(mask.get(), static_cast<unsigned>(node));
  const auto size = static_cast<unsigned long>(arena.bytes());
  if (::mbind(arena.data(), size, mode, mask->maskp, mask->size + 1, 0) == 0) return {};
  const bool forbidden = errno == EPERM || errno == ENOSYS;
  return Error{forbidden ? ErrorCode::kUnsupported : ErrorCode::kBadInput,
               fmt::format("cannot bind {} of tier '{}' to memory node {}: {}; {}", format_bytes(arena.bytes()), tier,
                           node, std::strerror(errno),
                           forbidden ? "a container's filter of system calls may forbid mbind and move_pages (allow "
                                       "them, docker: --cap-add SYS_NICE), or choose a tier that is not a memory node"
                                     : "the node does not exist, has no memory or is not ours to use")};
}

void touch(std::byte* begin, Bytes bytes) {
  for (Bytes offset = 0; offset < bytes; offset += kBlockAlignment) {
    volatile std::byte* const first = begin + offset;
    *first = *first;  // keeps what is there
  }
}

Error node_is_full(const std::string& tier, int node, Bytes asked, Bytes had) {
  return {ErrorCode::kOutOfSpace,
          fmt::format("memory node {} is full: tier '{}' wants {} there and {} could be had; free memory on the node, "
                      "use less of the tier (a smaller budget), or choose another node",
                      node, tier, format_bytes(asked), format_bytes(had)),
          asked, had};
}

// What could never fit is refused before a page is touched or even mapped. A node that does not exist has no size.
Status check_size(Bytes bytes, const std::string& tier, int node) {
  long long free = 0;
  const Bytes memory = ::numa_node_size64(node, &free);
  if (memory < 0 || bytes <= memory) return {};
  return node_is_full(tier, node, bytes, std::min<Bytes>(free, memory));
}

}  // namespace

// Touches the pages a portion after the other and brings to the node what the kernel put elsewhere.
Status move_to_node(std::span<std::byte> pages, const std::string& tier, int node) {
  const auto all = static_cast<Bytes>(pages.size());
  for (Bytes begin = 0; begin < all; begin += kPortion) {
    std::byte* const portion = pages.data() + begin;
    const Bytes bytes = std::min(kPortion, all - begin);
    touch(portion, bytes);
    SLUICE_ASSIGN(const PageMoves moves, move_pages_to_node(pages_of(portion, bytes), node));
    if (moves.left_behind == 0) continue;
    const Bytes there = bytes - moves.left_behind * kBlockAlignment;
    if (moves.node_full) return node_is_full(tier, node, all, begin + there);
    return Error{ErrorCode::kIo,
                 fmt::format("the kernel leaves {} pages of tier '{}' outside memory node {} although there is room",
                             moves.left_behind, tier, node)};
  }
  return {};
}

Status bind_to_node(const Arena& arena, const std::string& tier, int node) {
  if (arena.bytes() == 0) return {};
  SLUICE_RETURN_IF_ERROR(set_policy(arena, MPOL_PREFERRED, tier, node));
  SLUICE_RETURN_IF_ERROR(check_size(arena.bytes(), tier, node));
  SLUICE_RETURN_IF_ERROR(move_to_node({arena.data(), as_index(arena.bytes())}, tier, node));
  return set_policy(arena, MPOL_BIND, tier, node);
}

Result<Arena> map_arena_on_node(Bytes bytes, const std::string& tier, int node) {
  SLUICE_RETURN_IF_ERROR(check_size(bytes, tier, node));
  SLUICE_ASSIGN(Arena arena, Arena::map(bytes, tier));
  SLUICE_RETURN_IF_ERROR(bind_to_node(arena, tier, node));
  return arena;
}

}  // namespace sluice::memory
