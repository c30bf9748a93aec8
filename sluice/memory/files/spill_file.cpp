#include "sluice/memory/files/spill_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/base/interval.hpp"
#include "sluice/memory/files/direct_io.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::memory {
namespace {

constexpr Bytes kBounceBytes = kMiB;
constexpr const char* kReusableSuffix = ".spill";

Error cannot_use(const std::string& path, const std::string& why) {
  return Error{ErrorCode::kBadInput,
               fmt::format("cannot put the spill file at '{}': {}; name a writable directory, or a file ending in {}",
                           path, why, kReusableSuffix)};
}

Error out_of_space(const std::string& path, Bytes requested, Bytes available, const std::string& limit) {
  return Error{ErrorCode::kOutOfSpace,
               fmt::format("no room for the spill file at '{}': {} requested, {} available {}; free some, name another "
                           "path or give the slow tier less",
                           path, format_bytes(requested), format_bytes(available), limit),
               requested, available};
}

// A file without a name in `directory`: gone with its last descriptor, whatever ends the process.
int open_unnamed(const std::string& directory) {
  const int unnamed = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (unnamed >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return unnamed;
  std::string name = directory + "/sluice-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

struct Opened {
  int descriptor = -1;
  bool created = false;  // under its own name, by us
};

Result<Opened> open_reusable(const std::string& path) {
  struct stat before {};
  const bool created = ::stat(path.c_str(), &before) != 0;
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return cannot_use(path, std::strerror(errno));
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    ::close(descriptor);
    return cannot_use(path, "another run is using it");
  }
  return Opened{descriptor, created};
}

Result<Opened> open_any(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  fs::path directory = path;
  if (!fs::is_directory(status)) {
    if (fs::exists(status) && !fs::is_regular_file(status)) return cannot_use(path, "it is not a regular file");
    if (fs::path(path).extension() == kReusableSuffix) return open_reusable(path);
    if (fs::exists(status)) return cannot_use(path, "a file of that name exists, and may hold data");
    directory = fs::absolute(path).parent_path();
  }
  const int descriptor = open_unnamed(directory.string());
  if (descriptor < 0) return cannot_use(path, std::strerror(errno));
  return Opened{descriptor, false};
}

// Room for a file of ours that already holds `allocated` bytes.
Bytes available_bytes(int descriptor, Bytes allocated) {
  struct statvfs info {};
  if (::fstatvfs(descriptor, &info) != 0) return 0;
  return static_cast<Bytes>(info.f_bavail) * static_cast<Bytes>(info.f_frsize) + allocated;
}

// The limit is looked at first, because exceeding it raises a signal that ends the process.
std::optional<Bytes> file_size_limit() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<Bytes>(limit.rlim_cur);
}

struct Free {
  void operator()(std::byte* pointer) const { std::free(pointer); }
};
using AlignedBuffer = std::unique_ptr<std::byte, Free>;

Result<AlignedBuffer> bounce_buffer() {
  AlignedBuffer buffer(static_cast<std::byte*>(std::aligned_alloc(as_index(kBlockAlignment), as_index(kBounceBytes))));
  if (!buffer) return Error{ErrorCode::kOutOfSpace, "no memory for the spill file's 1.0 MiB buffer"};
  return buffer;
}

// Calls pread or pwrite until all bytes are done: either may do less than it was asked to.
template <typename Call>
Status transfer_fully(const SpillFile& file, const char* verb, Bytes offset, Bytes bytes, Call&& call) {
  for (Bytes done = 0; done < bytes;) {
    const ssize_t moved = call(done, as_index(bytes - done), static_cast<off_t>(offset + done));
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) {
      const ErrorCode code = moved < 0 && errno == ENOSPC ? ErrorCode::kOutOfSpace : ErrorCode::kIo;
      return Error{code,
                   fmt::format("cannot {} {} at offset {} of spill file '{}': {}", verb, format_bytes(bytes - done),
                               offset + done, file.path(), moved < 0 ? std::strerror(errno) : "unexpected end")};
    }
    done += moved;
  }
  return {};
}

Status read_blocks(const SpillFile& file, Bytes offset, std::byte* into, Bytes bytes) {
  return transfer_fully(file, "read", offset, bytes, [&](Bytes done, std::size_t size, off_t at) {
    return ::pread(file.descriptor(), into + done, size, at);
  });
}

Status write_blocks(const SpillFile& file, Bytes offset, const std::byte* from, Bytes bytes) {
  return transfer_fully(file, "write", offset, bytes, [&](Bytes done, std::size_t size, off_t at) {
    return ::pwrite(file.descriptor(), from + done, size, at);
  });
}

// The whole blocks around [offset, offset + bytes), at most a buffer of them.
Interval<Bytes> blocks_around(const SpillFile& file, Bytes offset, Bytes bytes) {
  const Bytes begin = align_down(offset, file.block());
  return {begin, std::min(align_up(offset + bytes, file.block()), begin + kBounceBytes)};
}

}  // namespace

Result<SpillFile> SpillFile::open(const std::string& path, Bytes bytes) {
  bytes = align_up(bytes, kBlockAlignment);
  if (const auto limit = file_size_limit(); limit && *limit < bytes) {
    return out_of_space(path, bytes, *limit, "under the process's file size limit (ulimit -f)");
  }
  SLUICE_ASSIGN(const Opened opened, open_any(path));
  SpillFile file(opened.descriptor, path, bytes);
  if (Status status = file.preallocate(); !status.ok()) {
    if (opened.created) ::unlink(path.c_str());
    return status.error();
  }
  file.choose_direct();
  return file;
}

Status SpillFile::preallocate() {
  struct stat before {};
  if (::fstat(descriptor_, &before) != 0) return cannot_use(path_, std::strerror(errno));
  const Bytes available = available_bytes(descriptor_, static_cast<Bytes>(before.st_blocks) * 512);
  if (available < bytes_) return out_of_space(path_, bytes_, available, "on its file system");
  int failure = ::fallocate(descriptor_, 0, 0, bytes_) == 0 ? 0 : errno;
  if (failure == EOPNOTSUPP) {
    notes_.push_back(
        fmt::format("spill file '{}': the file system cannot preallocate; blocks are written instead", path_));
    failure = ::posix_fallocate(descriptor_, 0, bytes_);
  }
  if (failure == 0) return {};
  if (::ftruncate(descriptor_, before.st_size) != 0) failure = errno;
  if (failure == ENOSPC || failure == EDQUOT) {
    return out_of_space(path_, bytes_, available_bytes(descriptor_, 0), fmt::format("({})", std::strerror(failure)));
  }
  return Error{ErrorCode::kIo, fmt::format("cannot preallocate {} for the spill file at '{}': {}", format_bytes(bytes_),
                                           path_, std::strerror(failure))};
}

void SpillFile::choose_direct() {
  struct statfs info {};
  if (::fstatfs(descriptor_, &info) == 0 && info.f_type == TMPFS_MAGIC) {
    notes_.push_back(fmt::format("spill file '{}' is on tmpfs, which is memory, not disk", path_));
  }
  const std::optional<Bytes> asked = direct_io_block(descriptor_);
  const bool fits = !asked || (*asked > 0 && kBlockAlignment % *asked == 0);
  const int flags = ::fcntl(descriptor_, F_GETFL);
  direct_ = fits && ::fcntl(descriptor_, F_SETFL, flags | O_DIRECT) == 0;
  // Some file systems take the flag and refuse the first transfer.
  if (direct_) {
    auto buffer = bounce_buffer();
    direct_ = buffer.ok() && (bytes_ == 0 || read_blocks(*this, 0, buffer->get(), kBlockAlignment).ok());
    if (!direct_) ::fcntl(descriptor_, F_SETFL, flags);
  }
  if (direct_) {
    block_ = asked.value_or(kBlockAlignment);
    return;
  }
  const std::string why = fits || *asked == 0 ? "the file system refuses O_DIRECT"
                                              : fmt::format("O_DIRECT takes blocks of {}", format_bytes(*asked));
  notes_.push_back(fmt::format(
      "spill file '{}': {}; transfers go through the page cache, which costs CPU time and memory outside the "
      "budget",
      path_, why));
}

SpillFile::~SpillFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

SpillFile::SpillFile(SpillFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      bytes_(other.bytes_),
      direct_(other.direct_),
      block_(other.block_),
      notes_(std::move(other.notes_)) {}

SpillFile& SpillFile::operator=(SpillFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  std::swap(direct_, other.direct_);
  std::swap(block_, other.block_);
  std::swap(notes_, other.notes_);
  return *this;
}

Status SpillFile::read(Bytes offset, std::span<std::byte> into) const {
  SLUICE_ASSIGN(const AlignedBuffer buffer, bounce_buffer());
  while (!into.empty()) {
    const auto blocks = blocks_around(*this, offset, std::ssize(into));
    SLUICE_RETURN_IF_ERROR(read_blocks(*this, blocks.begin, buffer.get(), blocks.length()));
    const auto wanted = std::min(as_index(blocks.end - offset), into.size());
    std::memcpy(into.data(), buffer.get() + (offset - blocks.begin), wanted);
    offset += static_cast<Bytes>(wanted);
    into = into.subspan(wanted);
  }
  return {};
}

Status SpillFile::write(Bytes offset, std::span<const std::byte> from) const {
  SLUICE_ASSIGN(const AlignedBuffer buffer, bounce_buffer());
  while (!from.empty()) {
    const auto blocks = blocks_around(*this, offset, std::ssize(from));
    const auto wanted = std::min(as_index(blocks.end - offset), from.size());
    if (wanted != as_index(blocks.length())) {  // keep what shares the first and last block
      SLUICE_RETURN_IF_ERROR(read_blocks(*this, blocks.begin, buffer.get(), blocks.length()));
    }
    std::memcpy(buffer.get() + (offset - blocks.begin), from.data(), wanted);
    SLUICE_RETURN_IF_ERROR(write_blocks(*this, blocks.begin, buffer.get(), blocks.length()));
    offset += static_cast<Bytes>(wanted);
    from = from.subspan(wanted);
  }
  return {};
}

}  // namespace sluice::memory
