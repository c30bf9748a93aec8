// The FIFO of open chunks: the order in which the software TLB forgets them.
//
// A bounded queue for many producers and consumers (after D. Vyukov's): every slot carries the turn it waits for, so a
// slot is taken by one compare-and-swap. push() and pop() allocate nothing and may run in signal handlers. Entries
// leave in the order in which their pushes took their slots.
//
// A thread can lose the processor after it has taken a slot and before it has filled or emptied it. Threads that need
// that very slot then wait for it. To go on without waiting would be worse: while a thread that does not run holds the
// oldest entry, nothing could be forgotten, so the TLB would outgrow its reach and accesses would go uncounted.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "sluice/memory/faults/wait_briefly.hpp"

namespace sluice::memory {

class ChunkQueue {
 public:
  explicit ChunkQueue(std::size_t least_capacity)
      : mask_(std::bit_ceil(least_capacity) - 1), slots_(std::make_unique<Slot[]>(mask_ + 1)) {
    for (std::size_t i = 0; i <= mask_; ++i) slots_[i].turn.store(i, std::memory_order_relaxed);
  }

  // The caller keeps the entries at or below the capacity; a full queue waits for a pop.
  void push(std::uint64_t entry) {
    WaitBriefly wait;
    std::size_t position = tail_.load(std::memory_order_relaxed);
    while (true) {
      Slot& slot = slots_[position & mask_];
      const std::size_t turn = slot.turn.load(std::memory_order_acquire);
      if (turn == position) {
        if (!tail_.compare_exchange_weak(position, position + 1, std::memory_order_relaxed)) continue;
        slot.entry = entry;
        slot.turn.store(position + 1, std::memory_order_release);
        return;
      }
      if (turn < position) wait();
      position = tail_.load(std::memory_order_relaxed);
    }
  }

  // Nothing when the queue is empty.
  std::optional<std::uint64_t> pop() {
    WaitBriefly wait;
    std::size_t position = head_.load(std::memory_order_relaxed);
    while (true) {
      Slot& slot = slots_[position & mask_];
      const std::size_t turn = slot.turn.load(std::memory_order_acquire);
      if (turn == position + 1) {
        if (!head_.compare_exchange_weak(position, position + 1, std::memory_order_relaxed)) continue;
        const std::uint64_t entry = slot.entry;
        slot.turn.store(position + mask_ + 1, std::memory_order_release);
        return entry;
      }
      if (turn <= position) {
        if (tail_.load(std::memory_order_relaxed) == position) return std::nullopt;
        wait();
      }
      position = head_.load(std::memory_order_relaxed);
    }
  }

  std::size_t table_bytes() const { return (mask_ + 1) * sizeof(Slot); }

 private:
  struct Slot {
    std::atomic<std::size_t> turn;
    std::uint64_t entry = 0;
  };

  const std::size_t mask_;
  std::unique_ptr<Slot[]> slots_;
  alignas(64) std::atomic<std::size_t> head_{0};
  alignas(64) std::atomic<std::size_t> tail_{0};
};

}  // namespace sluice::memory
