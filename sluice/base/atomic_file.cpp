#include "sluice/base/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/base/partial_file.hpp"
#include "sluice/base/units.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : "."; }

bool is_full(int reason) { return reason == ENOSPC || reason == EDQUOT; }

std::string advice(int reason, const fs::path& path) {
  if (is_full(reason)) return "make room there, or name a file elsewhere";
  if (reason == EFBIG) return "allow larger files (ulimit -f), or name a file elsewhere";
  if (reason == ENOENT) return fmt::format("make the folder {} first", folder_of(path).string());
  if (reason == EBUSY) return "a file that is mounted by itself cannot be replaced: mount its folder";
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

// Nothing where files may be of any size.
std::optional<std::uintmax_t> largest_file() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

// A file that is mounted by itself, as containers do: it can be written to and not be replaced.
bool is_mounted(const fs::path& file) {
  struct statx found {};
  return ::statx(AT_FDCWD, file.c_str(), 0, 0, &found) == 0 && (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

// Opens a file beside `target` with the rights of the one that is there.
int open_beside(const fs::path& target, fs::path& partial) {
  constexpr mode_t kUsual = 0666, kPrivate = 0600;
  collect_partials(target);
  struct stat old {};
  const bool replaces = ::stat(target.c_str(), &old) == 0;
  if (replaces && is_mounted(target)) {
    errno = EBUSY;
    return -1;
  }
  const int descriptor = open_partial(target, replaces ? kPrivate : kUsual, partial);
  if (descriptor >= 0 && replaces) take_rights(descriptor, target, old);
  return descriptor;
}

// Who asks the process to end waits while it exists: a file that takes milliseconds leaves no part of it.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t ends;
    sigemptyset(&ends);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&ends, signal);
    ::pthread_sigmask(SIG_BLOCK, &ends, &before_);
  }
  ~HeldSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_{};
};

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
      descriptor_(std::exchange(other.descriptor_, -1)),
      written_(other.written_) {}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!partial_.empty()) ::unlink(std::exchange(partial_, {}).c_str());
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  SLUICE_CHECK(descriptor_ >= 0, "the file is open");
  const std::optional<std::uintmax_t> most = partial_.empty() ? std::nullopt : largest_file();
  if (most && written_ + bytes.size() > *most) return write_error(path_, EFBIG);  // the kernel would send a signal
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(descriptor_, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return write_error(path_, errno);
    bytes = bytes.subspan(as_index(wrote));
    written_ += as_index(wrote);
  }
  return {};
}

Status AtomicFile::write(std::string_view text) { return write(std::as_bytes(std::span(text))); }

Status AtomicFile::check_room(std::uintmax_t bytes) const {
  if (partial_.empty()) return {};  // a device says when it is written to
  const std::optional<std::uintmax_t> most = largest_file();
  if (most && bytes > *most) return write_error(path_, EFBIG);
  struct statvfs disk {};
  if (::fstatvfs(descriptor_, &disk) != 0 || disk.f_blocks == 0) return {};  // this one says nothing of room
  const std::uintmax_t room = std::uintmax_t{disk.f_bavail} * disk.f_frsize;
  if (bytes <= room) return {};
  Error full = write_error(path_, ENOSPC);
  full.message += fmt::format(" (it takes {}, and {} are free)", format_bytes(static_cast<Bytes>(bytes)),
                              format_bytes(static_cast<Bytes>(room)));
  full.requested_bytes = static_cast<std::int64_t>(bytes);
  full.available_bytes = static_cast<std::int64_t>(room);
  return full;
}

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
  const HeldSignals whole;
  SLUICE_ASSIGN(AtomicFile file, AtomicFile::create(path));
  SLUICE_RETURN_IF_ERROR(file.write(text));
  return file.commit();
}

Status try_to_write(const fs::path& path, std::uintmax_t bytes) {
  std::error_code missing;
  if (fs::is_other(fs::status(path, missing))) {  // opened, a pipe would wait for its reader
    return ::access(path.c_str(), W_OK) == 0 ? Status() : Status(write_error(path, errno));
  }
  const HeldSignals whole;
  SLUICE_ASSIGN(const AtomicFile file, AtomicFile::create(path));
  return file.check_room(bytes);
}

}  // namespace sluice
