#include "sluice/memory/stitch.hpp"

#include <algorithm>

#include "sluice/base/check.hpp"

namespace sluice::memory {

std::vector<Interval<Bytes>> memory_behind(std::span<const Stitch> stitches, Interval<Bytes> addresses) {
  if (stitches.empty() || addresses.end <= stitches.front().address) return {addresses};
  const auto next = std::ranges::upper_bound(stitches, addresses.begin, {}, &Stitch::address);
  SLUICE_CHECK(next != stitches.begin() && addresses.end <= stitch_end(*std::prev(next)), "addresses of one stitch");
  std::vector<Interval<Bytes>> found;
  Bytes begin = std::prev(next)->address;
  for (const Interval<Bytes>& piece : std::prev(next)->memory) {
    const Interval<Bytes> wanted{std::max(addresses.begin, begin), std::min(addresses.end, begin + piece.length())};
    if (!wanted.empty()) found.push_back({piece.begin + wanted.begin - begin, piece.begin + wanted.end - begin});
    begin += piece.length();
  }
  return found;
}

}  // namespace sluice::memory
