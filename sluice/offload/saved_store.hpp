// Keeps bytes in a file for a while: what another framework's step saves for its backward pass.
//
// Bytes leave and come back in the background, a lane each (exec/transfer's engines), first come, first served. They leave
// through staging memory, because a framework's tensors begin anywhere and files past the page cache take whole pages;
// so their memory can be given back as soon as it is copied, before anything is written. They come back into the
// store's own arena. Staging memory and arena are of fixed size and belong to the store from the beginning.
//
//   leave()  ->  left()  ->  bring()  ->  take()  ->  forget()
//
// Threads: every function from any thread; only the waits named so block. A read that was asked for before its bytes
// are written follows the write. Errors of the disk belong to the bytes they befell: take() and wait_left() return them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/exec/transfer/tier_storage.hpp"
#include "sluice/exec/transfer/transfer_engine.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/offload/free_ranges.hpp"

namespace sluice {

class SavedStore {
 public:
  using Id = std::int64_t;

  struct Config {
    std::string path;       // as of SpillFile
    Bytes file_bytes = 0;   // all that may be away at once
    Bytes arena_bytes = 0;  // all that may be back at once
  };

  static Result<std::unique_ptr<SavedStore>> open(const Config& config);
  ~SavedStore();
  SavedStore(const SavedStore&) = delete;
  SavedStore& operator=(const SavedStore&) = delete;

  // Bytes begin to leave. `from` has to stay as it is until they have left(). Nothing where the file is full.
  std::optional<Id> leave(const std::byte* from, Bytes bytes);
  bool left(Id id) const;
  Status wait_left(Id id);

  // They begin to come back. False where the arena has no room for them.
  bool bring(Id id);
  bool here(Id id) const;
  // Waits until they are back; bring() was called. The memory is the caller's until forget().
  Result<std::byte*> take(Id id);

  // Waits until they are written, and reads them into somebody else's memory: for when the arena is full.
  Status read(Id id, std::span<std::byte> into);

  // Waits where the bytes are just being copied: `from` may be freed afterwards, whatever had been begun.
  void forget(Id id);

  Bytes staging_bytes() const;
  std::vector<std::string> notes() const { return notes_; }

 private:
  struct Entry {
    const std::byte* from = nullptr;
    Bytes bytes = 0;
    Interval<Bytes> file;
    Interval<Bytes> arena;
    Bytes copied = 0;      // into staging memory
    bool copying = false;  // right now
    int chunks = 0;        // on their way to the file
    bool wanted = false, reading = false, here = false, forgotten = false;
    Status status;
  };
  struct Chunk {
    Id id = 0;
    std::size_t slot = 0;
  };

  SavedStore(Machine machine, TierStorages storages);
  Status start();
  void write_lane();
  bool copy_next(std::unique_lock<std::mutex>& lock);
  void chunk_written(const FinishedTransfer& finished);
  void read_lane();
  void submit_reads();
  void read_finished(const FinishedTransfer& finished);
  void want(Entry& entry, Id id);
  bool written(const Entry& entry) const { return entry.copied == entry.bytes && entry.chunks == 0; }
  void drop_if_idle(Id id);
  std::byte* arena_at(Bytes offset) const;

  const Machine machine_;
  TierStorages storages_;
  std::unique_ptr<TransferEngine> writer_, reader_;
  std::vector<std::string> notes_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Id, Entry> entries_;
  FreeRanges file_, arena_;
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
