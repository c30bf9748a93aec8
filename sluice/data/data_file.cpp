#include "sluice/data/data_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sluice/base/as_index.hpp"

namespace sluice::data {

Result<DataFile> DataFile::open(const std::filesystem::path& path, std::string_view what, std::string_view hint) {
  const auto refused = [&](const char* why) {
    return Error{ErrorCode::kBadInput, fmt::format("cannot open {} {}: {}; {}", what, path.string(), why, hint)};
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return refused(std::strerror(errno));
  struct stat info {};
  const bool regular = ::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
  DataFile file(descriptor, path, info.st_size);
  if (!regular) return refused("not a regular file");
  return file;
}

DataFile::~DataFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

DataFile::DataFile(DataFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)), bytes_(other.bytes_) {}

DataFile& DataFile::operator=(DataFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Status DataFile::check_size(std::int64_t expected, std::string_view why) const {
  if (bytes_ == expected) return {};
  return Error{ErrorCode::kBadInput, fmt::format("{} has {} bytes where {} are expected ({}); it is cut short or of "
                                                 "another kind: fetch it again",
                                                 path_.string(), bytes_, expected, why)};
}

Status DataFile::read(std::int64_t offset, std::span<unsigned char> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got =
        ::pread(descriptor_, into.data() + done, into.size() - done, offset + static_cast<std::int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      return Error{ErrorCode::kIo,
                   fmt::format("reading {} bytes at {} of {} gave {}: {}", into.size(), offset, path_.string(), done,
                               got < 0 ? std::strerror(errno) : "the file ended early")};
    }
    done += as_index(got);
  }
  return {};
}

}  // namespace sluice::data
