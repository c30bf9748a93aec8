// A heap as a framework's allocator keeps it, over virtual offsets: the tightest freed range that is large enough.
//
// Sizes are rounded up to 64 bytes. An allocation takes the smallest freed range that is large enough, the lowest of
// equals, from its low end, and the rest stays free; freed neighbours merge; when no freed range is large enough,
// memory grows at its end, and a freed range that reaches it is used first. O(log n) a call; not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "sluice/base/units.hpp"

namespace sluice::memory {

class BestFitHeap {
 public:
  static constexpr Bytes kUnit = 64;

  Bytes allocate(Bytes bytes) {
    const std::optional<Bytes> freed = reuse(bytes);
    return freed ? *freed : grow(align_up(bytes, kUnit));
  }

  // The same in freed ranges alone: nothing where none is large enough. A heap of a fixed size is one that begins with
  // that much freed and only reuses.
  std::optional<Bytes> reuse(Bytes bytes) {
    bytes = align_up(bytes, kUnit);
    const auto tightest = by_size_.lower_bound({bytes, 0});
    if (tightest == by_size_.end()) return std::nullopt;
    const auto [size, offset] = *tightest;
    remove(offset, size);
    if (size > bytes) add(offset + bytes, size - bytes);
    return offset;
  }

  // What allocate(bytes) returned.
  void free(Bytes offset, Bytes bytes) {
    bytes = align_up(bytes, kUnit);
    const auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto [before, size] = *std::prev(next);
      if (before + size == offset) {
        remove(before, size);
        offset = before;
        bytes += size;
      }
    }
    const auto behind = by_offset_.find(offset + bytes);
    if (behind != by_offset_.end()) {
      const auto [after, size] = *behind;
      remove(after, size);
      bytes += size;
    }
    add(offset, bytes);
  }

  Bytes largest_freed() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }
  Bytes end() const { return end_; }  // one past the highest byte ever used

 private:
  Bytes grow(Bytes bytes) {
    Bytes offset = end_;
    if (!by_offset_.empty()) {
      const auto [last, size] = *by_offset_.rbegin();
      if (last + size == end_) {
        remove(last, size);
        offset = last;
      }
    }
    end_ = offset + bytes;
    return offset;
  }

  void add(Bytes offset, Bytes bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }

  void remove(Bytes offset, Bytes bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }

  // Freed ranges; everything from end_ on is unused.
  std::map<Bytes, Bytes> by_offset_;           // to size
  std::set<std::pair<Bytes, Bytes>> by_size_;  // size, offset
  Bytes end_ = 0;
};

}  // namespace sluice::memory
