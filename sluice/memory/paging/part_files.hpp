// The files behind a paged memory: where each part is read from, and where it is written to.
//
// A segment is bytes of a file of the user's, which is never written, or zeros at first. Each begins with a part; what precedes
// its first byte in its first block of the file is there, too. What changes goes to one spill file without a name, in
// which only segments that may change have a place.
//
// Threads: open() on one; then any, for different parts.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/memory/files/spill_file.hpp"
#include "sluice/memory/paging/part_table.hpp"
#include "sluice/memory/paging/source_file.hpp"
#include "sluice/memory/transfer/transfer_queue.hpp"

namespace sluice::memory {

struct PagedSegment {
  std::string file;  // empty: zeros at first
  Bytes offset = 0;
  Bytes bytes = 0;
  bool changes = true;  // room for that is had from the beginning; else what is changed all the same stays in memory
};

class PartFiles {
 public:
  using WhenDone = std::function<void(const Status&)>;

  // `folder`: as of SpillFile. kBadInput of a file, kOutOfSpace.
  static Result<std::unique_ptr<PartFiles>> open(const std::vector<PagedSegment>& segments, Bytes part_bytes,
                                                 const std::string& folder);

  Bytes bytes() const { return bytes_; }  // of all parts
  Bytes begin_of_segment(std::size_t number) const { return segments_[number].begin; }
  bool in_one_segment(PartId one, PartId other) const { return &segment_of(one) == &segment_of(other); }

  // Of a part whose newest bytes are in the spill file (`changed`), or where its segment is from. read() returns false where no
  // transfer is needed; `when_done` is then not called. Behind either, fill_rest() makes the part complete: files end within
  // blocks, and what is behind them are zeros.
  bool read(PartId id, bool changed, std::byte* into, WhenDone when_done) const;
  Status fill_rest(PartId id, bool changed, std::byte* into) const;

  bool can_write(PartId id) const { return segment_of(id).spill_offset >= 0; }
  void write(PartId id, std::byte* from, WhenDone when_done) const;

  Status check_unchanged() const;  // that nobody has changed the files since they were opened: kMismatch
  void close();                    // returns when nothing is under way

 private:
  struct Placed {
    Bytes begin = 0;  // of the segment's first byte, in the memory
    PartId first_part = 0;
    Bytes file_offset = 0;    // of the first part
    Bytes spill_offset = -1;  // likewise
    int source = -1;          // of sources_
  };

  explicit PartFiles(Bytes part_bytes) : part_bytes_(part_bytes) {}
  Status place(const PagedSegment& segment);
  Result<int> source_of(const std::string& file);
  Status open_spill(const std::string& folder);
  Status open_sources();
  const Placed& segment_of(PartId id) const;
  Bytes source_offset(PartId id) const;
  Bytes spill_offset(PartId id) const;
  Bytes bytes_in_blocks(PartId id, bool changed) const;

  const Bytes part_bytes_;
  Bytes bytes_ = 0, spill_bytes_ = 0;
  std::vector<std::unique_ptr<SourceFile>> sources_;
  std::vector<Placed> segments_;
  std::optional<SpillFile> spill_;
  std::unique_ptr<TransferQueue> spill_in_, spill_out_;
  std::vector<std::unique_ptr<TransferQueue>> source_in_;
};

}  // namespace sluice::memory
