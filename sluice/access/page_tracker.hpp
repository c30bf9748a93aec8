// Counts main-memory accesses from user space (Sentinel §III-A, with page protection in the place of poisoned page
// table entries): watched memory is protected, every touch of it is a fault, and the fault's handler counts it and
// opens the chunk that was touched.
//
// A bounded FIFO of open chunks plays the TLB: touches of what it holds cost nothing and are not counted; when its
// reach is exceeded the oldest chunk is protected again. The first load of a closed chunk opens it for reading and
// counts a read of its pages; a store opens it for writing and counts a write, also of a chunk so far only read. (An
// instruction that loads and stores at once counts a write.) With chunks of one page the count is that of every TLB
// miss of a FIFO TLB; larger chunks bound the cost and count a swept range the same, a sparsely touched one too high.
//
// Cost (measured, 2 cores, virtual): 4 to 5 us of processor time for a touch of a page, 12 for 64 KiB, 35 for 256 KiB;
// two threads that fault at once wait for each other inside the kernel. Each open chunk may split a mapping in three:
// start() refuses a reach that this system's limit on mappings cannot hold.
//
// While a range is watched, system calls that are given its addresses fail with EFAULT: watch it only while nothing but
// plain loads and stores touches it.
//
// Threads: any number may touch watched memory, those that run generated code with a stack for faults
// (fault_stack.hpp). The other calls are for one thread at a time, and that thread has to keep others from a range that
// it begins or ceases to watch. One tracker a process at a time: it owns SIGSEGV, and passes on faults that are not its
// own (fault_handler.hpp). The handler allocates nothing and takes no mutex; it waits
// for other threads only in the middle of a few instructions or of one system call (wait_briefly.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sluice/access/chunk_queue.hpp"
#include "sluice/access/tracked_range.hpp"
#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"

namespace sluice {

struct PageTouches {
  std::int64_t reads = 0;  // in pages
  std::int64_t writes = 0;
  bool operator==(const PageTouches&) const = default;
};

class PageTracker {
 public:
  using RangeId = std::uint32_t;

  struct Options {
    Bytes reach = 0;  // of the software TLB
    int threads = 1;  // that will touch watched memory at once
    std::size_t most_ranges = 1 << 14;
    std::size_t most_watched = 1 << 14;  // at the same time; every fault looks through as many as there are
  };

  // Takes over SIGSEGV. kUnsupported while another tracker is there or off x86-64; kBadInput for a reach too small for
  // the threads or too large for this system's limit on mappings.
  static Result<std::unique_ptr<PageTracker>> start(const Options& options);
  ~PageTracker();  // opens everything and gives SIGSEGV back
  PageTracker(const PageTracker&) = delete;
  PageTracker& operator=(const PageTracker&) = delete;

  // The largest chunk that leaves every thread eight chunks: fewer, and an instruction that touches several at once
  // might never find them all open.
  static Bytes largest_chunk(Bytes reach, int threads);
  // kBadInput unless it is a power of two from a page to largest_chunk().
  static Status check_chunk(Bytes chunk, Bytes reach, int threads);
  // For a range of so many bytes: a sixteenth of it, from a page to `largest`. Small ranges are counted page by page,
  // and the error of large ones stays within a sixteenth where they are touched sparsely.
  static Bytes chunk_of(Bytes range_bytes, Bytes largest);

  // A range that may be watched from now on: whole pages, readable and writable. Its state in the software TLB is
  // empty, and kept while it is not watched. A range may lie where another one lies that is no longer watched.
  // kBadInput when there are most_ranges already.
  Result<RangeId> add_range(std::byte* begin, Bytes bytes, Bytes chunk);

  // Protects what the software TLB does not hold of the range, which overlaps no other watched one. kOutOfSpace when
  // the kernel refuses.
  Status watch(RangeId range);
  // Opens the range; what the software TLB holds of it stays there.
  void unwatch(RangeId range);

  // As if a thread had written the range from end to end: for memory that a system call fills.
  void count_written(RangeId range);

  // Counted since the last call.
  PageTouches take_counts(RangeId range);

  Bytes table_bytes() const;                  // held by the tracker itself
  bool complete() const { return !failed_; }  // false: the kernel refused to change a protection, counts are too low

  enum class Touch {
    kForeign,  // no watched range holds the address
    kOpen,     // the chunk is open already: another thread has been here since the fault
    kOpened,
  };
  struct Access {
    std::uintptr_t address = 0;
    std::uintptr_t instruction = 0;
    bool write = false;
    bool operator==(const Access&) const = default;
  };
  // What a thread touched last that opened a chunk.
  struct CountedAccess {
    Access access;
    std::int64_t watch = 0;  // of the range: what begins to be watched again is touched anew
    bool operator==(const CountedAccess&) const = default;
  };
  // For the fault's handler: opens the chunk, and counts the touch unless `last`, this thread's, is the very same. For
  // a thread may lose the processor between the opening of a chunk and its access, others may close the chunk
  // meanwhile, and its next fault is then no new access. With several threads this leaves out a real repeat: the same
  // instruction touching the same address twice in a row, where others closed the chunk in between. With one thread no
  // other closes anything in between, and counts are exact.
  Touch touch(const Access& access, CountedAccess& last);

 private:
  explicit PageTracker(const Options& options);
  TrackedRange* find(std::uintptr_t address) const;
  bool open(TrackedRange& range, Bytes chunk, bool write, bool count, ChunkState before);
  void enter(TrackedRange& range, Bytes chunk);
  void close(TrackedRange& range, Bytes chunk);

  const Options options_;
  std::vector<std::unique_ptr<TrackedRange>> ranges_;  // reserved: never moves while handlers read it
  std::unique_ptr<std::atomic<TrackedRange*>[]> watched_;
  std::atomic<std::size_t> watched_slots_{0};  // no watched range is beyond
  ChunkQueue open_chunks_;
  std::atomic<Bytes> open_bytes_{0};
  std::atomic<bool> failed_{false};
  static inline std::atomic<std::int64_t> all_watches{0};  // of all trackers: no two watches have the same number
};

}  // namespace sluice
