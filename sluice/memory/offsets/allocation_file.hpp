// Offset-assignment problems in the CSV form that static allocators share:
//
//   id,lower,upper,size        an item a line: a name, the half-open interval of times in which it is live, and bytes
//   a,0,10,4096
//   b,5,20,100
//
// The four columns may come in any order; lines may end with CR LF; empty lines are passed over. Times are any 64-bit
// numbers. A solution has a fifth column, offset.
//
// Errors (kBadInput) name file, line and column: a line with too few or too many fields, what is no number or beyond
// 64 bits, an interval that is empty or backwards, a size below 0, an id seen before, sizes that sum to 2^63 or more.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/memory/offsets/offset_allocator.hpp"

namespace sluice::memory {

struct AllocationProblem {
  std::vector<std::string> ids;
  std::vector<Interval<std::int64_t>> live;  // as in the file
  std::vector<OffsetItem> items;             // the same, its times counted from 0 without gaps; alignment 1
};

// `name` is what errors call the text.
Result<AllocationProblem> parse_allocation(std::string_view text, const std::string& name);
Result<AllocationProblem> read_allocation(const std::filesystem::path& file);

std::string allocation_csv(const AllocationProblem& problem, std::span<const Bytes> offsets);

}  // namespace sluice::memory
