#include "sluice/base/line_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sluice/base/as_index.hpp"

namespace sluice {
namespace {

Error cannot_write(const std::filesystem::path& path, int reason) {
  return {reason == ENOSPC || reason == EDQUOT ? ErrorCode::kOutOfSpace : ErrorCode::kIo,
          fmt::format("cannot write {}: {}", path.string(), std::strerror(reason))};
}

}  // namespace

Result<LineFile> LineFile::create(const std::filesystem::path& path) {
  constexpr mode_t kUsual = 0666;
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kUsual);
  if (descriptor < 0) return cannot_write(path, errno);
  return LineFile(path, descriptor);
}

LineFile::LineFile(LineFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      waiting_(std::move(other.waiting_)) {}

LineFile::~LineFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status LineFile::add(std::string_view line) {
  waiting_ += line;
  waiting_ += '\n';
  return flush();
}

// What was written of a line stays where it is: the rest follows it.
Status LineFile::flush() {
  while (!waiting_.empty()) {
    const ssize_t wrote = ::write(descriptor_, waiting_.data(), waiting_.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return cannot_write(path_, errno);
    waiting_.erase(0, as_index(wrote));
  }
  return {};
}

}  // namespace sluice
