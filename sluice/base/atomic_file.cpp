#include "sluice/base/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "sluice/base/as_index.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : "."; }

bool is_full(int reason) { return reason == ENOSPC || reason == EDQUOT; }

std::string advice(int reason, const fs::path& path) {
  if (is_full(reason)) return "make room there, or name a file elsewhere";
  if (reason == EFBIG) return "allow larger files (ulimit -f), or name a file elsewhere";
  if (reason == ENOENT) return fmt::format("make the folder {} first", folder_of(path).string());
  if (reason == EACCES || reason == EPERM || reason == EROFS) return "name a file in a folder that you may write to";
  return "name a file elsewhere";
}

Error write_error(const fs::path& path, int reason) {
  return {is_full(reason) ? ErrorCode::kOutOfSpace : ErrorCode::kIo,
          fmt::format("cannot write {}: {}; {}", path.string(), std::strerror(reason), advice(reason, path))};
}

// Follows symbolic links, also to a file that is not there yet. Links in a circle fail when the file is opened.
fs::path follow_links(fs::path path) {
  constexpr int kMostLinks = 40;  // the kernel's limit
  std::error_code failed;
  for (int links = 0; links < kMostLinks && fs::is_symlink(path, failed); ++links) {
    path = folder_of(path) / fs::read_symlink(path, failed);  // an absolute link replaces the folder
  }
  return path;
}

// Opens a file that nobody else has, beside `target`.
int open_beside(const fs::path& target, fs::path& partial) {
  static std::atomic<unsigned> count = 0;
  while (true) {
    partial = target;
    partial += fmt::format(".{}-{}.partial", ::getpid(), count++);
    const int descriptor = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;  // one that exists was left by a killed process
  }
}

}  // namespace

Result<AtomicFile> AtomicFile::create(const fs::path& path) {
  AtomicFile file;
  file.path_ = path;
  file.target_ = follow_links(path);
  std::error_code missing;
  const fs::file_status now = fs::status(path, missing);
  if (fs::is_directory(now)) return write_error(path, EISDIR);
  const bool as_it_is = fs::exists(now) && !fs::is_regular_file(now);
  file.descriptor_ = as_it_is ? ::open(path.c_str(), O_WRONLY | O_CLOEXEC) : open_beside(file.target_, file.partial_);
  if (file.descriptor_ < 0) {
    const int reason = errno;
    file.partial_.clear();
    return write_error(path, reason);
  }
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      partial_(std::exchange(other.partial_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!partial_.empty()) ::unlink(std::exchange(partial_, {}).c_str());
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  SLUICE_CHECK(descriptor_ >= 0, "the file is open");
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(descriptor_, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return write_error(path_, errno);
    bytes = bytes.subspan(as_index(wrote));
  }
  return {};
}

Status AtomicFile::write(std::string_view text) { return write(std::as_bytes(std::span(text))); }

Status AtomicFile::commit() {
  SLUICE_CHECK(descriptor_ >= 0, "the file is open");
  const bool beside = !partial_.empty();
  int reason = beside && ::fsync(descriptor_) != 0 ? errno : 0;
  if (::close(std::exchange(descriptor_, -1)) != 0 && reason == 0) reason = errno;
  if (reason == 0 && beside && std::rename(partial_.c_str(), target_.c_str()) != 0) reason = errno;
  if (reason != 0) {
    discard();
    return write_error(path_, reason);
  }
  partial_.clear();
  return beside ? sync_folder() : Status();
}

Status AtomicFile::sync_folder() const {
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return errno == EACCES ? Status() : Status(write_error(path_, errno));  // may be written, not read
  const int reason = ::fsync(folder) != 0 ? errno : 0;
  ::close(folder);
  if (reason == 0 || reason == EINVAL) return {};  // EINVAL: the file system has no such thing
  return write_error(path_, reason);
}

Status write_file(const fs::path& path, std::string_view text) {
  SLUICE_ASSIGN(AtomicFile file, AtomicFile::create(path));
  SLUICE_RETURN_IF_ERROR(file.write(text));
  return file.commit();
}

}  // namespace sluice
