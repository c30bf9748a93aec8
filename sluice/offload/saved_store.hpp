// Keeps bytes in a file for a while: what another framework's step saves for its backward pass.
//
// Bytes leave and come back in the background, a lane each (exec/transfer's engines), first come, first served. They leave
// through staging memory, because a framework's tensors begin anywhere and files past the page cache take whole pages;
// so their memory can be given back as soon as it is copied, before anything is written. They come back into memory of
// the caller's, in whole pages, without a copy.
//
//   leave()  ->  left()  ->  bring()  ->  here()  ->  forget()
//
// Threads: every function from any thread; only the waits named so block, and forget() as it says. Bytes that are asked
// for before they are written are read behind that. Errors of the disk belong to the bytes they befell: wait_left() and
// wait_here() return them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/exec/transfer/transfer_engine.hpp"
#include "sluice/memory/arena.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/memory/spill_file.hpp"
#include "sluice/offload/free_ranges.hpp"

namespace sluice {

class SavedStore {
 public:
  using Id = std::int64_t;

  struct Config {
    std::string path;      // as of SpillFile
    Bytes file_bytes = 0;  // all that may be away at once
  };

  static Result<std::unique_ptr<SavedStore>> open(const Config& config);
  ~SavedStore();
  SavedStore(const SavedStore&) = delete;
  SavedStore& operator=(const SavedStore&) = delete;

  // Bytes begin to leave. `from` has to stay as it is until they have left(). Nothing where the file is full.
  std::optional<Id> leave(const std::byte* from, Bytes bytes);
  bool left(Id id) const;
  Status wait_left(Id id);

  // They begin to come back. `into`: whole_pages(bytes) from the beginning of a page on, the caller's until forget().
  void bring(Id id, std::byte* into);
  bool here(Id id) const;
  Status wait_here(Id id);

  // Waits where the bytes are just being copied or read: the caller's memory may be freed afterwards.
  void forget(Id id);

  static Bytes whole_pages(Bytes bytes) { return align_up(bytes, kTensorAlignment); }
  static Bytes staging_bytes();
  std::vector<std::string> notes() const { return notes_; }

 private:
  struct Entry {
    const std::byte* from = nullptr;
    Bytes bytes = 0;
    Interval<Bytes> file;
    std::byte* into = nullptr;  // where they come back; nullptr: nobody has asked
    Bytes copied = 0;           // into staging memory
    bool copying = false;       // right now
    int chunks = 0;             // on their way to the file
    bool reading = false;       // with the engine
    bool here = false, forgotten = false;
    Status status;
  };
  struct Chunk {
    Id id = 0;
    std::size_t slot = 0;
  };

  SavedStore(Arena staging, SpillFile file);
  Status start();
  void write_lane();
  bool copy_next(std::unique_lock<std::mutex>& lock);
  void chunk_written(const FinishedTransfer& finished);
  void read_lane();
  void submit_reads();
  void read_finished(const FinishedTransfer& finished);
  void ask(Id id);
  bool written(const Entry& entry) const { return entry.copied == entry.bytes && entry.chunks == 0; }
  void drop_if_idle(Id id);

  const Arena staging_;
  const SpillFile file_;
  std::unique_ptr<TransferEngine> writer_, reader_;
  std::vector<std::string> notes_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Id, Entry> entries_;
  FreeRanges room_;                  // in the file
  std::deque<Id> leaving_, coming_;  // not yet copied to the end, not yet submitted
  std::vector<std::size_t> free_slots_;
  std::map<TransferIndex, Chunk> chunks_;
  std::map<TransferIndex, Id> reads_;
  Id next_id_ = 0;
  TransferIndex next_write_ = 0, next_read_ = 0;
  bool stopping_ = false;
  std::thread write_thread_, read_thread_;
};

}  // namespace sluice
