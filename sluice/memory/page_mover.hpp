// Where pages of this process lie among the machine's memory nodes, and moving them in place: their addresses and
// contents stay, other threads may use them meanwhile.
//
// What the kernel reports while it moves pages cannot be trusted. When a node fills up, it reports failure and does not
// say which pages it did move. For parts of a 2 MiB page it reports that they are busy, although they move with the
// whole page. So pages are moved kMovedAtOnce at a time, and afterwards the kernel is asked where they really are.
//
// Cost: one system call to move and two to ask for as many with a page elsewhere; a moved 4 KiB page takes about a
// microsecond. Threads: any. Errors: kUnsupported where the system forbids move_pages (containers do), kBadInput for a
// node that does not exist or is not ours. A full node is no error but part of the outcome.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"

namespace sluice::memory {

inline constexpr int kNowhereYet = -1;  // a page that nobody has touched
inline constexpr std::size_t kMovedAtOnce = 512;

struct PageMoves {
  std::vector<int> nodes;        // of each page afterwards, or kNowhereYet
  std::int64_t moved = 0;        // pages that lie on the node and did not before
  std::int64_t left_behind = 0;  // pages that lie elsewhere
  bool node_full = false;        // the kernel found no more room on the node
};

// The start of every page of a range that begins at a page.
std::vector<void*> pages_of(std::byte* data, Bytes bytes);

// The node of each page, or kNowhereYet.
Result<std::vector<int>> nodes_of_pages(std::span<void* const> pages);

// Moves the pages that lie on other nodes to `node`. Stops trying when the node is full.
Result<PageMoves> move_pages_to_node(std::span<void* const> pages, int node);

}  // namespace sluice::memory
