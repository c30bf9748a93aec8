// Keeps bytes in a file for a while: what another framework's step saves for its backward pass.
//
// Bytes leave and come back in the background, a TransferQueue each, straight from and to the pages that they are in
// (PagePool): files past the page cache take whole pages, and copies would take compute threads their cores.
//
//   leave()  ->  left()  ->  bring()  ->  here()  ->  forget()
//
// Threads: every function from any thread; only the waits named so block, and forget() as it says. Errors of the disk
// belong to the bytes they befell: wait_left() and wait_here() return them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/memory/allocators/free_ranges.hpp"
#include "sluice/memory/files/spill_file.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/memory/transfer/transfer_queue.hpp"

namespace sluice::offload {

class SavedStore {
 public:
  using Id = std::int64_t;

  struct Config {
    std::string path;      // as of SpillFile
    Bytes file_bytes = 0;  // all that may be away at once
  };

  static Result<std::unique_ptr<SavedStore>> open(const Config& config);

  // Bytes begin to leave. `from`: whole_pages(bytes) from the beginning of a page on, which have to stay as they are until
  // the bytes have left(). Nothing where the file is full.
  std::optional<Id> leave(std::byte* from, Bytes bytes);
  bool left(Id id) const;
  Status wait_left(Id id);

  // What has left begins to come back, as often as wanted. `into`: like `from`; the caller's again when the bytes are here().
  void bring(Id id, std::byte* into);
  bool here(Id id) const;
  Status wait_here(Id id);  // after bring()

  // Waits where the bytes are just being written or read: the caller's memory may be freed afterwards.
  void forget(Id id);
  bool empty() const;  // all are forgotten

  static Bytes whole_pages(Bytes bytes) { return align_up(bytes, memory::kBlockAlignment); }
  std::vector<std::string> notes() const { return notes_; }

 private:
  struct Entry {
    Interval<Bytes> file;
    memory::Ticket out;
    std::optional<memory::Ticket> in = {};  // once they come back
  };

  explicit SavedStore(memory::SpillFile file);
  Status start();
  Entry entry(Id id) const;

  const memory::SpillFile file_;
  std::vector<std::string> notes_;

  mutable std::mutex mutex_;  // of what stands between here and the queues
  std::map<Id, Entry> entries_;
  memory::FreeRanges room_;  // in the file
  Id next_id_ = 0;

  std::unique_ptr<memory::TransferQueue> out_, in_;
};

}  // namespace sluice::offload
