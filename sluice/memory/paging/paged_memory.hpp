// Files as memory, of which a stated part is there: whoever touches a byte has it, and what is changed stays changed.
//
// Like mmap(), but what is resident is bounded; what is used next is read before it is touched, because the last uses say what
// comes (use_history.hpp), and what is used last of all makes room; bytes go straight between disk and memory, past the page
// cache; files that are given are never written: what changes goes to a spill file without a name.
//
//   a touch of a part that is absent   it is read; the thread waits inside the kernel (user_faults.hpp)
//   a touch of one that is set aside   it is shown, which takes 6 to 48 us, and counts as a use
//   a touch of one that is shown       nothing; it is set aside again when it was not touched for a while
//   a store to one that is clean       a signal, once; it is written when it was not touched for a while
//
// Parts are of 2 MiB, in huge pages; smaller where the memory is below 64 MiB. An error of the disk: what cannot be written stays in memory, beyond the budget where need
// be, and take_problem() says why; where what somebody has touched cannot be read there is no way on, and the process ends
// with the reason.
//
// Threads: any may use the memory and call. Stores are seen by SIGSEGV (fault_handler.hpp), on the stack of who stores: code that
// has data in its stack pointer may read this memory, not write it. A child of the process does not have the memory: its
// touch is a SIGSEGV there.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/memory/arena.hpp"
#include "sluice/memory/faults/fault_handler.hpp"
#include "sluice/memory/faults/user_faults.hpp"
#include "sluice/memory/paging/part_files.hpp"
#include "sluice/memory/paging/part_table.hpp"

namespace sluice::memory {

class PagedMemory final : private FaultAnswerer {
 public:
  using Segment = PagedSegment;
  struct Config {
    std::vector<Segment> segments;
    Bytes resident = 0;  // at most, with all that reading takes; least_resident() or more
    std::string folder;  // as of SpillFile, for what changes
  };
  struct Counts {
    Bytes read = 0, written = 0;
    std::int64_t uses = 0, waits = 0;  // that were noticed; of these, for a disk
    Bytes resident = 0;
  };

  static constexpr Bytes least_resident() { return 2 * kMiB; }

  // kBadInput of a file, or of too little memory; kUnsupported, kOutOfSpace.
  static Result<std::unique_ptr<PagedMemory>> open(Config config);
  ~PagedMemory();  // nobody touches it any more
  PagedMemory(const PagedMemory&) = delete;
  PagedMemory& operator=(const PagedMemory&) = delete;

  std::byte* segment(std::size_t number) const { return pages_.data() + files_->begin_of_segment(number); }
  void set_resident(Bytes bytes);
  Counts counts() const;

  Status take_problem();  // the first write that failed since the last call
  Status check_unchanged() const { return files_->check_unchanged(); }  // as of PartFiles

 private:
  using Lock = std::unique_lock<std::mutex>;

  PagedMemory(Config config, UserFaults faults);
  Status start();
  Status map_memory();
  void compute_capacity();
  std::byte* begin_of(PartId id) const { return pages_.data() + id * part_bytes_; }
  std::byte* slot_of(PartId id) { return slots_.data() + (*parts_)[id].slot * part_bytes_; }

  bool answer_fault(const MemoryAccess& access) override;
  bool make_dirty(PartId id);
  void answer_touches();
  void answer_touch(PartId id);
  void use(PartId id);
  void touched(PartId id);
  void leave_alone();
  void show(PartId id);
  void set_aside(PartId id);

  void pump();
  bool begin_reading(PartId id, std::size_t ahead);
  bool make_room(std::size_t ahead, const LastTouched& kept);
  void write_those_that_leave(std::size_t ahead, const LastTouched& kept);
  void drop(PartId id);
  void begin_writing(PartId id);
  void when_read(PartId id, const Status& status);
  void arrive(PartId id, const Status& status);
  void when_written(PartId id, const Status& status);

  Config config_;
  UserFaults faults_;
  Bytes part_bytes_ = 0;
  std::unique_ptr<PartFiles> files_;
  Arena pages_, slots_;

  mutable std::mutex mutex_;
  std::optional<PartTable> parts_;
  LastTouched kept_{0};        // do not leave; what is older is written
  LastTouched unarmed_{0};     // are not set aside
  std::deque<PartId> wanted_;  // absent, and somebody waits
  std::vector<int> free_slots_;
  std::size_t most_here_ = 0, here_ = 0;  // parts with slots
  std::size_t parts_ahead_ = 0;           // so many uses are seen to
  std::size_t under_way_ = 0;             // reads and writes
  std::size_t writing_ = 0;
  std::size_t ahead_ = 0;  // of them, so many are
  Counts counts_;
  Status problem_;
  bool stopping_ = false;

  std::thread answering_;
};

}  // namespace sluice::memory
