// One range of memory whose touches are counted, cut into chunks of equal size (the last may be shorter).
//
// Every chunk has one atomic byte. A thread that changes a chunk's protection first sets kBusy in this byte, so that
// the byte and the pages change as one. A thread that finds kBusy set waits for that one system call. No thread holds
// two chunks at once, so there is no deadlock.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"
#include "sluice/memory/faults/wait_briefly.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::memory {

inline constexpr Bytes kSmallestChunk = kBlockAlignment;  // a page

using ChunkState = std::uint8_t;
inline constexpr ChunkState kBusy = 1;      // some thread is changing this chunk
inline constexpr ChunkState kWatched = 2;   // its pages are as open as the two bits below say; else fully open
inline constexpr ChunkState kReadable = 4;  // in the software TLB
inline constexpr ChunkState kWritable = 8;  // and written since it came there

class TrackedRange {
 public:
  // `begin` and `bytes` are multiples of a page, `chunk` is a power of two and at least one.
  TrackedRange(std::byte* begin, Bytes bytes, Bytes chunk, std::uint32_t number)
      : begin_(reinterpret_cast<std::uintptr_t>(begin)),
        bytes_(bytes),
        chunk_(chunk),
        number_(number),
        states_(std::make_unique<std::atomic<ChunkState>[]>(as_index(chunk_count()))) {
    SLUICE_CHECK(begin_ % kSmallestChunk == 0 && bytes > 0 && bytes % kSmallestChunk == 0, "a range of whole pages");
    SLUICE_CHECK(chunk >= kSmallestChunk && std::has_single_bit(static_cast<std::uint64_t>(chunk)),
                 "a chunk of a power of two pages");
  }

  std::byte* begin() const { return reinterpret_cast<std::byte*>(begin_); }
  Bytes bytes() const { return bytes_; }
  std::uint32_t number() const { return number_; }
  Bytes chunk_count() const { return (bytes_ + chunk_ - 1) / chunk_; }

  bool contains(std::uintptr_t address) const {
    return address >= begin_ && address - begin_ < static_cast<std::uintptr_t>(bytes_);
  }
  bool overlaps(const TrackedRange& other) const { return contains(other.begin_) || other.contains(begin_); }
  Bytes chunk_at(std::uintptr_t address) const { return static_cast<Bytes>(address - begin_) / chunk_; }
  std::byte* chunk_begin(Bytes chunk) const { return begin() + chunk * chunk_; }
  // The bytes of `count` chunks from `chunk` on, cut off at the end of the range.
  Bytes chunk_bytes(Bytes chunk, Bytes count = 1) const {
    const Bytes rest = bytes_ - chunk * chunk_;
    return rest < count * chunk_ ? rest : count * chunk_;
  }

  std::atomic<ChunkState>& state(Bytes chunk) { return states_[as_index(chunk)]; }

  // Takes the chunk for this thread: its state, in which kBusy is now set. The caller stores the next state.
  ChunkState take(Bytes chunk) {
    std::atomic<ChunkState>& state = this->state(chunk);
    WaitBriefly wait;
    while (true) {
      ChunkState now = state.load(std::memory_order_relaxed);
      if ((now & kBusy) == 0 && state.compare_exchange_weak(now, now | kBusy, std::memory_order_acquire)) return now;
      wait();
    }
  }
  void give_back(Bytes chunk, ChunkState next) { state(chunk).store(next, std::memory_order_release); }

  // In pages, since the last reset.
  std::atomic<std::int64_t> reads{0};
  std::atomic<std::int64_t> writes{0};

  std::atomic<std::int64_t> watch{0};  // the number of the watch that began last, 0 before the first

 private:
  const std::uintptr_t begin_;
  const Bytes bytes_;
  const Bytes chunk_;
  const std::uint32_t number_;
  std::unique_ptr<std::atomic<ChunkState>[]> states_;
};

}  // namespace sluice::memory
