// Exact offset assignment: finds offsets that fit under a capacity, or proves that there are none.
//
// The tree of assignments (offset_tree.hpp) is walked again and again, from the start, each time in another order of
// trial: first comes what failed most often so far, then one of three orders (longest, busiest first), with noise. A
// first choice that is wrong costs a short walk then, not all the time there is. Walks get 2 % more nodes a round; for
// every three nodes of these, one goes to ever longer walks, which may end with the proof that there is nothing.
//
// Exponential at worst. Deterministic for a given effort. Items with a fixed offset are not supported (SLUICE_CHECK).
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "sluice/memory/offsets/offset_allocator.hpp"

namespace sluice::memory {

enum class SearchVerdict { kFound, kImpossible, kGaveUp };

struct SearchLimit {
  // How often an item may be looked at, in a section or beside another, about 2 to 4 ns each; 0: without end.
  std::int64_t effort = 0;
  std::function<bool()> stop = {};  // asked about once a millisecond; empty: never stops
};

struct SearchResult {
  SearchVerdict verdict = SearchVerdict::kGaveUp;
  std::vector<Bytes> offsets;  // by item, if found
  std::int64_t placed = 0;     // how often an item was put somewhere
  std::int64_t looks = 0;      // what it took of the effort
};

SearchResult search_offsets(std::span<const OffsetItem> items, Bytes capacity, const SearchLimit& limit);

}  // namespace sluice::memory
