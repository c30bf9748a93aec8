// What makes the graphs of a run's steps differ, and which of them are alike enough to share a profile.
//
// Sentinel §IV-E: the size of a step's input decides its graph ("dynamic graphs"; sizes are put into at most ten
// buckets, each of which is profiled), and so does the path that control flow takes ("control dependencies"; a new
// dataflow is profiled when it is met).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/result.hpp"

namespace sluice::train {

// Names a graph among those that a run's steps may have.
struct VariantKey {
  std::string path;       // that control flow takes; empty: there is only one
  std::int64_t size = 0;  // of the input, such as the length of its sequences; 0: always the same

  auto operator<=>(const VariantKey&) const = default;  // NOLINT(modernize-use-nullptr): false alarm of clang-tidy 14
};

std::string to_string(const VariantKey& key);  // "size 25", "path left", "path left, size 25"

// At most ten classes of sizes. In every class the largest size is at most one ratio above the smallest: the tenth root
// of largest / smallest of all sizes. It is the ratio of two sizes that makes op times differ, not their difference.
// Sizes below the range go into the first bucket, those above it into the last.
class SizeBuckets {
 public:
  static constexpr int kMost = 10;

  SizeBuckets() = default;                                   // one bucket for all
  SizeBuckets(std::int64_t smallest, std::int64_t largest);  // from 1; in this order

  int of(std::int64_t size) const;  // from 0; never falls as the size grows

 private:
  std::vector<std::int64_t> begins_;  // of every bucket but the first, ascending
};

inline constexpr std::size_t kMostSizes = 256;  // in one run: each has a graph, kernels and a plan of its own

// "20,25,40" or "16-64:16" (16, 32, 48, 64), or both in one list; ascending. kBadInput: not such a list, a size of 0,
// one that occurs twice, more than kMostSizes.
Result<std::vector<std::int64_t>> parse_sizes(std::string_view text);

// Draws one of `sizes` for each step, uniformly, from (seed, step) alone: a resumed run draws the same.
std::function<VariantKey(std::int64_t step)> drawn_sizes(std::vector<std::int64_t> sizes, std::uint64_t seed);

}  // namespace sluice::train
