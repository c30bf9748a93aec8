// A file of a data set, open for reading. Its bytes are read where they lie (pread), so a set costs no memory of its
// own beyond the kernel's page cache. Move-only; read() may be called from several threads at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "sluice/base/result.hpp"

namespace sluice::data {

class DataFile {
 public:
  // `what` ("CIFAR-10 file") and `hint` (what to do) are for the message when it cannot be opened.
  static Result<DataFile> open(const std::filesystem::path& path, std::string_view what, std::string_view hint);
  ~DataFile();
  DataFile(DataFile&& other) noexcept;
  DataFile& operator=(DataFile&& other) noexcept;

  const std::filesystem::path& path() const { return path_; }
  std::int64_t bytes() const { return bytes_; }

  // kBadInput unless the file has exactly `expected` bytes; `why` says what these are.
  Status check_size(std::int64_t expected, std::string_view why) const;

  // Fills `into` from `offset`. kIo when the file has become shorter or cannot be read.
  Status read(std::int64_t offset, std::span<unsigned char> into) const;

 private:
  DataFile(int descriptor, std::filesystem::path path, std::int64_t bytes)
      : descriptor_(descriptor), path_(std::move(path)), bytes_(bytes) {}

  int descriptor_ = -1;
  std::filesystem::path path_;
  std::int64_t bytes_ = 0;
};

}  // namespace sluice::data
