// Performs moves of ranges of an address space (memory/move.hpp) between the tiers of a machine. Addresses stay: whoever
// computes finds a page or an object where it was.
//
//   to a file          written at the same offset of the tier's file, and the pages given back to the system
//   from a file        read into place
//   to a memory node   the kernel moves the pages (TierTraits::place), while others may use them
//
// The space is the fast tier's storage, mapped as ordinary memory for all its addresses; pages take memory only while
// they lie in a tier of memory. Pages smaller than a huge page are not put into huge ones, which could not be given back
// in parts.
//
// perform() is driven by its caller: moves away from the fast tier first, so that there is room for what comes, each
// kind at once and in order of addresses. begin() leaves them to a thread of its own, one list behind the other;
// wait_for() returns when nothing begun touches these ranges any more. Who uses a range, or moves it again, waits for it
// first.
//
// One caller, always on the same thread. Errors: those of files, kOutOfSpace where a node is full, kUnsupported where
// pages cannot be given back. A move that failed leaves its bytes undefined, and every later call returns its error.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "sluice/memory/move.hpp"
#include "sluice/memory/transfer/tier_storage.hpp"
#include "sluice/memory/transfer/transfer_queue.hpp"

namespace sluice::memory {

// Whether ranges can be moved between the tiers of this machine: kUnsupported naming the tier where not.
Status check_movable(const Machine& machine);

class RangeMover {
 public:
  // `storages`: of the space, and of files as large; they outlive the mover. `page_bytes`: what moves is a multiple.
  RangeMover(const Machine& machine, const TierStorages& storages, Bytes page_bytes);
  ~RangeMover();
  RangeMover(const RangeMover&) = delete;
  RangeMover& operator=(const RangeMover&) = delete;

  Status perform(const MoveList& moves);
  void begin(const MoveList& moves);
  Status wait_for(std::span<const Interval<Bytes>> ranges);
  Status drain();

  Bytes resident_bytes() const;  // of the space, by asking the kernel

 private:
  // On one thread: the caller's, or the mover's own.
  class Performer {
   public:
    Performer(const Machine& machine, const TierStorages& storages) : machine_(machine), storages_(storages) {}
    Status perform(const MoveList& moves);

   private:
    Status perform_together(const std::map<Bytes, RangeMove>& moves);
    Status perform_all(std::span<const RangeMove> moves);
    Status transfer_all(std::span<const RangeMove> moves);
    Result<TransferQueue*> queue_between(TierId from, TierId to);

    const Machine& machine_;
    const TierStorages& storages_;
    std::map<LinkId, std::unique_ptr<TransferQueue>> queues_;  // driven by this thread
  };

  void work();

  const Machine machine_;
  const TierStorages& storages_;
  Performer of_caller_;
  Performer of_thread_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<MoveList> begun_;  // the first one is being performed; guarded, as all below
  Status status_;
  bool over_ = false;
  std::thread thread_;  // since the first begin()
};

}  // namespace sluice::memory
