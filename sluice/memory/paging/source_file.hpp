// A file of the user's that is read past the page cache, where its file system allows that, and never written.
#pragma once

#include <memory>
#include <string>

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"
#include "sluice/memory/transfer/transfer_engine.hpp"

namespace sluice::memory {

class SourceFile {
 public:
  static Result<std::unique_ptr<SourceFile>> open(const std::string& path);
  ~SourceFile();
  SourceFile(const SourceFile&) = delete;
  SourceFile& operator=(const SourceFile&) = delete;

  const std::string& path() const { return path_; }
  Bytes bytes() const { return bytes_; }

  // Reads of whole blocks within the file, to addresses.
  Result<std::unique_ptr<TransferEngine>> engine() const;
  // Any bytes, through the page cache.
  Status read(Bytes offset, std::byte* into, Bytes bytes) const;
  // kMismatch where the file is not as it was: another size or another time of its last change.
  Status check_unchanged() const;

 private:
  SourceFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;   // through the page cache
  int direct_ = -1;  // past it, if it can be had
  Bytes bytes_ = 0;
  std::int64_t seconds_ = 0, nanoseconds_ = 0;  // of the last change
};

}  // namespace sluice::memory
