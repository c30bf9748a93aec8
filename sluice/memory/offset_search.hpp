// Exact offset assignment: finds offsets that fit under a capacity, or proves that there are none.
//
// Any assignment can be pushed down until each item rests on offset 0 or on an item below it. Named by rising offset,
// such an assignment is a sequence in which every item goes to the lowest place that is free above all items named
// before. The search walks these sequences depth first; a branch ends as soon as one of these shows it to be hopeless:
//
//   - a section of time, in which always the same items are live: the lowest place of any of its open items, plus
//     the bytes of all of them, is beyond the capacity;
//   - an open item would fit entirely below the place where the next one is put: another branch has it there;
//   - items at the same offset are named in another order than the first, or one of two alike before its elder.
//
// When no open item lives across a moment, what comes before and after are problems of their own. Three orders of trial
// (longest, busiest first) take turns with doubled patience, as one order's bad first choice may be another's last.
// The ideas are MiniMalloc's (Moffitt, ASPLOS 2023).
//
// Exponential at worst. Deterministic for a given effort. Items with a fixed offset are not supported (SLUICE_CHECK).
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "sluice/memory/offset_allocator.hpp"

namespace sluice {

enum class SearchVerdict { kFound, kImpossible, kGaveUp };

struct SearchLimit {
  // How often an item may be looked at in a section, about 2 to 4 ns each; 0: without end.
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

}  // namespace sluice
