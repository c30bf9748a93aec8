// A file that a run appends lines to while it works: losses, a line a step. Readers see every line soon after it was
// written.
//
// A line that cannot be written now (the disk is full for a while, the folder's server is away) is kept and written before
// the next one, so that nothing is missing when the cause is gone; nor is half a line ever followed by another. One caller
// at a time.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "sluice/base/result.hpp"

namespace sluice {

class LineFile {
 public:
  // Empties a file that is there. kIo with the reason.
  static Result<LineFile> create(const std::filesystem::path& path);
  LineFile(LineFile&& other) noexcept;
  LineFile& operator=(LineFile&&) = delete;
  ~LineFile();

  // kIo or kOutOfSpace where lines wait; they are not lost yet.
  Status add(std::string_view line);
  // Tries again what waits.
  Status flush();

 private:
  explicit LineFile(std::filesystem::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::string waiting_;
};

}  // namespace sluice
