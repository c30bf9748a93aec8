// Arenas in the memory of one NUMA node, and nowhere else.
//
// If memory is strictly bound to a node and first touched when the node is full, the kernel ends the process, because
// it finds nothing else to free. So the pages are touched here once, with a preference for the node that lets the
// kernel fall back to others. Then the kernel is asked where they really lie, and pages that lie elsewhere are moved,
// which makes the kernel give up file caches on the node. A page that cannot be moved is an error with figures. Only
// then are the pages bound, so that they stay through swapping and the kernel's automatic balancing leaves them alone.
//
// Cost: touching all pages takes 0.05 s per GiB in huge pages, and asking where they lie takes 0.1 s per GiB. Threads:
// not while others use the arena. Errors: kOutOfSpace with what could be had, kUnsupported where the system forbids
// mbind or move_pages, kBadInput for a node that does not exist.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "sluice/memory/arena.hpp"

namespace sluice::memory {

// `tier` is its name, for messages.
Result<Arena> map_arena_on_node(Bytes bytes, const std::string& tier, int node);

// The same for an arena that is mapped already, touched or not; contents stay.
Status bind_to_node(const Arena& arena, const std::string& tier, int node);

// Brings pages to the node without binding them, so that they can be moved on. Other threads may use them meanwhile.
Status move_to_node(std::span<std::byte> pages, const std::string& tier, int node);

}  // namespace sluice::memory
