// The file tier's storage: one preallocated file, read and written past the page cache (O_DIRECT).
//
// `path` may name
//   a directory       the file has no name (O_TMPFILE, or unlinked as soon as it is open), so that nothing is left
//                     behind whatever ends the process, SIGKILL included;
//   a new file        the same, in the file's directory;
//   a file *.spill    kept and reused, because preallocating and deleting tens of GiB takes seconds; locked while open,
//                     so that two runs never share it. Any other existing file is refused: it may be the user's data.
// The file is preallocated, because appending costs ten times the CPU, and because a full disk then shows before
// anything starts. Where the file system refuses O_DIRECT or preallocation, notes() says what is done instead.
//
// read() and write() are synchronous, for start-up and checkpoints: any offset and length, any thread, through an
// aligned buffer of 1 MiB. Transfers use io_uring on descriptor() (memory/transfer/uring_engine.hpp).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::memory {

class SpillFile {
 public:
  // `bytes` is rounded up to kBlockAlignment. kOutOfSpace: requested and available bytes; kBadInput: the path cannot
  // be used, and why; kIo: anything else the system says.
  static Result<SpillFile> open(const std::string& path, Bytes bytes);

  ~SpillFile();
  SpillFile(SpillFile&& other) noexcept;
  SpillFile& operator=(SpillFile&& other) noexcept;

  int descriptor() const { return descriptor_; }
  Bytes bytes() const { return bytes_; }
  bool direct() const { return direct_; }  // O_DIRECT in force
  // Transfers on descriptor() begin and end at multiples of this, and so do their buffers: what the file asks for where it
  // is known. kBlockAlignment is a multiple of it.
  Bytes block() const { return block_; }
  const std::string& path() const { return path_; }
  const std::vector<std::string>& notes() const { return notes_; }

  Status read(Bytes offset, std::span<std::byte> into) const;
  Status write(Bytes offset, std::span<const std::byte> from) const;

 private:
  SpillFile(int descriptor, std::string path, Bytes bytes)
      : descriptor_(descriptor), path_(std::move(path)), bytes_(bytes) {}

  Status preallocate();
  void choose_direct();

  int descriptor_ = -1;
  std::string path_;
  Bytes bytes_ = 0;
  bool direct_ = false;
  Bytes block_ = kBlockAlignment;
  std::vector<std::string> notes_;
};

}  // namespace sluice::memory
