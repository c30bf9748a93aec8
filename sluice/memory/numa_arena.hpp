// Arenas in the memory of one NUMA node, and nowhere else.
//
// Memory that is strictly bound to a node and is first touched when the node is full ends the process: the kernel
// finds nothing else to free. So the pages are touched here, once, with a preference for the node that lets the kernel
// fall back to others; where they really lie is then asked for, what lies elsewhere is moved (which makes the kernel
// give up file caches on the node), and a page that cannot be moved is an error with figures. Only then are they bound,
// so that they stay through swapping and are left alone by the kernel's automatic balancing.
//
// Cost: all pages are touched, 0.05 s per GiB in huge pages, and asked for, 0.1 s per GiB. Threads: not while others
// use the arena. Errors: kOutOfSpace with what could be had, kUnsupported where the system forbids mbind or move_pages,
// kBadInput for a node that does not exist.
#pragma once

#include <string>

#include "sluice/memory/arena.hpp"

namespace sluice {

// `tier` is its name, for messages.
Result<Arena> map_arena_on_node(Bytes bytes, const std::string& tier, int node);

// The same for an arena that is mapped already, touched or not; contents stay.
Status bind_to_node(const Arena& arena, const std::string& tier, int node);

}  // namespace sluice
