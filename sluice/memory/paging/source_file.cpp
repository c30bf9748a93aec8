#include "sluice/memory/paging/source_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/files/direct_io.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/memory/transfer/copy_engine.hpp"
#include "sluice/memory/transfer/uring_engine.hpp"

namespace sluice::memory {

Result<std::unique_ptr<SourceFile>> SourceFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return bad_input(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  std::unique_ptr<SourceFile> file(new SourceFile(path, descriptor));
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode))
    return bad_input(fmt::format("'{}' is no regular file", path));
  file->bytes_ = facts.st_size;
  file->seconds_ = facts.st_mtim.tv_sec;
  file->nanoseconds_ = facts.st_mtim.tv_nsec;
  const std::optional<Bytes> block = direct_io_block(descriptor);
  if (!block || (*block > 0 && kBlockAlignment % *block == 0)) {
    file->direct_ = ::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  }
  return file;
}

SourceFile::~SourceFile() {
  ::close(descriptor_);
  if (direct_ >= 0) ::close(direct_);
}

Result<std::unique_ptr<TransferEngine>> SourceFile::engine() const {
  UringEngine::Config config;
  config.direction = UringEngine::Direction::kFromFile;
  config.arena_bytes = std::numeric_limits<Bytes>::max();  // addresses, anywhere
  config.registers = false;
  config.tier = path_;
  config.descriptor = direct_ >= 0 ? direct_ : descriptor_;
  auto ring = UringEngine::create(config);
  if (ring.ok()) return std::unique_ptr<TransferEngine>(std::move(ring).value());
  if (ring.error().code != ErrorCode::kUnsupported) return ring.error();
  return std::unique_ptr<TransferEngine>(std::make_unique<CopyEngine>(
      [this](Bytes from, Bytes to, Bytes bytes) { return read(from, reinterpret_cast<std::byte*>(to), bytes); },
      std::vector<std::string>{ring.error().message}));
}

Status SourceFile::read(Bytes offset, std::byte* into, Bytes bytes) const {
  for (Bytes done = 0; done < bytes;) {
    const ssize_t got = ::pread(descriptor_, into + done, as_index(bytes - done), offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      return Error{ErrorCode::kIo,
                   fmt::format("cannot read {} at offset {} of '{}': {}", format_bytes(bytes - done), offset + done,
                               path_, got < 0 ? std::strerror(errno) : "unexpected end")};
    }
    done += got;
  }
  return {};
}

Status SourceFile::check_unchanged() const {
  struct stat facts {};
  if (::fstat(descriptor_, &facts) == 0 && facts.st_size == bytes_ && facts.st_mtim.tv_sec == seconds_ &&
      facts.st_mtim.tv_nsec == nanoseconds_) {
    return {};
  }
  return Error{ErrorCode::kMismatch, fmt::format("'{}' was changed while it was in use: what was read of it is of two "
                                                 "versions; begin again, and leave the file as it is",
                                                 path_)};
}

}  // namespace sluice::memory
