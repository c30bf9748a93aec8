// Memory for whoever allocates and frees whole pages, of which at most a limit is resident.
//
// Addresses are reserved once, many times as many as there is memory, so that holes between what is taken cost addresses and no
// memory. What is given back stays resident for the next one, because a fresh page costs time: the kernel zeroes it. Where
// no free range is long enough, the pages of several move to new addresses (0.1 us for 100 KiB), in units of huge pages, so
// that none is torn. What is above the limit goes back to the kernel.
//
// The limit binds what is kept for later, never what is in use: whoever takes more than the limit gets it, and has to see
// from peak_used() and peak_resident() that less is taken. Threads: every function from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "sluice/base/result.hpp"
#include "sluice/memory/allocators/free_ranges.hpp"
#include "sluice/memory/arena.hpp"

namespace sluice::memory {

class PagePool {
 public:
  // kOutOfSpace where the system allows no such reservation.
  static Result<std::unique_ptr<PagePool>> reserve(Bytes addresses);
  explicit PagePool(Arena arena) : arena_(std::move(arena)), cold_(arena_.bytes()), limit_(arena_.bytes()) {}

  std::byte* take(Bytes bytes);  // whole pages from the beginning of a page on; nullptr: no address is left
  void give(std::byte* pages);   // that were taken
  bool owns(const void* address) const;

  // Ages: the n-th take has number n.
  std::int64_t takes() const;
  std::int64_t number_of(const std::byte* pages) const;  // of those that begin there and are taken; else 0

  void set_limit(Bytes resident);

  Bytes used() const;
  Bytes resident() const;   // used, or kept for the next one, or between two of them in one huge page
  Bytes held() const;       // the least that resident() can be while these pages are taken: all but what is kept
  Bytes peak_used() const;  // since begin_peaks()
  Bytes peak_resident() const;
  void begin_peaks();
  Bytes grown() const;  // fresh memory since the beginning: each page of it was zeroed by the kernel

  // For fork(): between the two, nobody else is inside.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::optional<Bytes> grow(Bytes bytes);
  Interval<Bytes> longest_to_extend(Bytes bytes) const;
  Bytes gather(Interval<Bytes> into);
  bool move_pages(Interval<Bytes> from, Bytes to);
  void release(Bytes bytes);
  void renew(Interval<Bytes> range);
  Bytes resident_now() const { return arena_.bytes() - cold_.free_bytes(); }

  const Arena arena_;
  mutable std::mutex mutex_;
  FreeRanges cold_;  // not resident; begins and ends with huge pages
  FreeRanges warm_;  // resident and free
  struct Taken {
    Bytes bytes;
    std::int64_t number;
  };
  std::unordered_map<Bytes, Taken> taken_;  // by where they begin
  std::int64_t takes_ = 0;
  Bytes limit_;
  Bytes used_ = 0, peak_used_ = 0, peak_resident_ = 0, grown_ = 0;
};

}  // namespace sluice::memory
