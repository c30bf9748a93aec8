// Writes a file so that readers see the old one or the whole new one, never a part, even after a loss of power.
//
//   FILE.<process>-<n>.partial   bytes are written here, in the folder of FILE (partial_file.hpp)
//   fsync                        they are on the device
//   rename to FILE               readers see them
//   fsync of the folder          so does the next boot, where the file system can do that
//
// Whatever fails leaves FILE as it was and nothing beside it; a process that is killed leaves the .partial file, which
// nobody reads and the next writer of FILE removes. A FILE that is there keeps its owner, its access mode and list. One
// that is a symbolic link stays one: what it points to is replaced. A device or a pipe (/dev/stdout) is written to as it
// is.
//
// Cost: one fsync of the file and one of the folder, milliseconds on a disk. Threads: one at a time per object; two
// writers of one FILE do not mix, the last one stays. Errors: kOutOfSpace when the device or a quota is full, kIo
// otherwise; each names the file, the reason and what to do. A limit on the size of files (ulimit -f) is an error too,
// and no signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "sluice/base/result.hpp"

namespace sluice {

// For what is too large to hold in memory twice. An object that is destroyed before commit() removes what it has
// written.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::filesystem::path& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);

  // Whether so many bytes may be written and have room beside what is there: by limits and the file system's word.
  Status check_room(std::uintmax_t bytes) const;

  // Gives the file its name. Nothing may be written after.
  Status commit();

 private:
  AtomicFile() = default;

  Status sync_folder() const;
  void discard();

  std::filesystem::path path_;     // as the caller named it
  std::filesystem::path target_;   // what the links of `path_` point to
  std::filesystem::path partial_;  // empty when the target is written to as it is
  int descriptor_ = -1;
  std::uintmax_t written_ = 0;
};

// The whole file at once.
Status write_file(const std::filesystem::path& path, std::string_view text);

// Whether a file of so many bytes could be written now: its folder is there, may be written to and has room. For what a
// long run writes at its end, before it begins. Nothing is left and nothing changed.
Status try_to_write(const std::filesystem::path& path, std::uintmax_t bytes = 0);

}  // namespace sluice
