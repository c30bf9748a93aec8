// Counts main-memory accesses from user space (Sentinel §III-A, with page protection in the place of poisoned page
// table entries): watched memory is protected, every touch of it is a fault, and the fault's handler counts it and
// opens the chunk that was touched.
//
// A bounded FIFO of open chunks plays the TLB. Touches of chunks in it cost nothing and are not counted. When the open
// chunks exceed its reach, the oldest one is protected again. The first load from a closed chunk opens it for reading
// and counts a read of its pages. The first store opens it for writing and counts a write, even if the chunk was open
// for reading. (An instruction that loads and stores at once counts a write.) With chunks of one page, the count is
// that of every TLB miss of a FIFO TLB. Larger chunks bound the cost: they count a swept range the same, and a sparsely
// touched one too high.
//
// Cost (measured, 2 cores, virtual): 4 to 5 us of processor time for a touch of a page, 12 for 64 KiB, 35 for 256 KiB;
// two threads that fault at once wait for each other inside the kernel. Each open chunk may split a mapping in three:
// start() refuses a reach that this system's limit on mappings cannot hold.
//
// While a range is watched, system calls that are given its addresses fail with EFAULT: watch it only while nothing but
// plain loads and stores touches it.
//
// Threads: any number may touch watched memory. Those that run generated code need a stack for faults
// (fault_stack.hpp). The other calls are for one thread at a time, and that thread must keep others away from a range
// while it starts or stops watching it. A process has one tracker at a time; faults that are not its
// own are passed on (fault_handler.hpp). The handler allocates nothing and takes no mutex. It waits for other
// threads only while they are in the middle of a few instructions or of one system call (wait_briefly.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"
#include "sluice/memory/faults/fault_handler.hpp"
#include "sluice/memory/observe/chunk_queue.hpp"
#include "sluice/memory/observe/tracked_range.hpp"

namespace sluice::memory {

struct PageTouches {
  std::int64_t reads = 0;  // in pages
  std::int64_t writes = 0;
  bool operator==(const PageTouches&) const = default;
};

class PageTracker final : private FaultAnswerer {
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

  // The largest chunk of which every thread can have eight within the reach. With fewer, an instruction that touches
  // several chunks at once might never find them all open.
  static Bytes largest_chunk(Bytes reach, int threads);
  // kBadInput unless `chunk` is a power of two from a page to largest_chunk().
  static Status check_chunk(Bytes chunk, Bytes reach, int threads);
  // The chunk for a range of `range_bytes`: a sixteenth of it, from a page to `largest`. So small ranges are counted
  // page by page, and the error of a large range stays within a sixteenth of it where it is touched sparsely.
  static Bytes chunk_of(Bytes range_bytes, Bytes largest);

  // Adds a range that may be watched from now on: whole pages, readable and writable. At first the software TLB holds
  // nothing of it; what the TLB holds later, it keeps while the range is not watched. A range may lie in the same place
  // as another one that is no longer watched. kBadInput when there are most_ranges already.
  Result<RangeId> add_range(std::byte* begin, Bytes bytes, Bytes chunk);

  // Protects the parts of the range that the software TLB does not hold. The range must not overlap another watched
  // one. kBadInput when most_watched ranges are watched already, kOutOfSpace when the kernel refuses.
  Status watch(RangeId range);
  // Opens the range; what the software TLB holds of it stays there.
  void unwatch(RangeId range);

  // Counts as if a thread had written the range from end to end: for memory that a system call fills.
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
  using Access = MemoryAccess;
  // A thread's last access that opened a chunk.
  struct CountedAccess {
    Access access;
    std::int64_t watch = 0;  // of the range: after another watch() the same access counts again
    bool operator==(const CountedAccess&) const = default;
  };
  // For the fault's handler: opens the chunk, and counts the touch unless it is the very same as `last`, this thread's
  // last one. The reason: a thread may lose the processor after its chunk was opened and before its access. If other
  // threads close the chunk meanwhile, the thread faults again, but that is no new access. With several threads this
  // leaves out a real repeat: the same instruction touches the same address twice in a row, and others closed the chunk
  // in between. With one thread nobody else closes anything in between, and counts are exact.
  Touch touch(const Access& access, CountedAccess& last);

 private:
  explicit PageTracker(const Options& options);
  bool answer_fault(const MemoryAccess& access) override;
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
  bool owns_the_process_ = false;                          // of one that was started
  static inline std::atomic<std::int64_t> all_watches{0};  // of all trackers: no two watches have the same number
};

}  // namespace sluice::memory
