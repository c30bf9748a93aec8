#include "sluice/doctor/read_storage.hpp"

#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/files/spill_file.hpp"

namespace sluice::doctor {
namespace {

constexpr Bytes kTried = 64 * kMiB;
constexpr Bytes kRequest = kMiB;

// Of `move` at one offset after the other, until all is moved or the time is up.
template <typename Move>
BytesPerSecond rate_of(const Move& move) {
  constexpr double kMostSeconds = 0.25;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  double seconds = 0;
  Bytes moved = 0;
  while (moved < kTried && seconds < kMostSeconds) {
    if (!move(moved).ok()) return 0;
    moved += kRequest;
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return seconds > 0 ? static_cast<double>(moved) / seconds : 0;
}

std::string folder_of(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return path;
  const std::filesystem::path folder = std::filesystem::absolute(path, ignored).parent_path();
  return folder.string();
}

}  // namespace

StorageFacts read_storage(const std::string& path) {
  StorageFacts facts{.path = path};
  struct statvfs room {};
  struct statfs kind {};
  const std::string folder = folder_of(path);
  if (::statvfs(folder.c_str(), &room) == 0) {
    facts.free = static_cast<Bytes>(room.f_bavail) * static_cast<Bytes>(room.f_frsize);
  }
  facts.in_memory = ::statfs(folder.c_str(), &kind) == 0 && kind.f_type == TMPFS_MAGIC;
  // A file without a name beside FILE.spill, which another run may be using.
  Result<memory::SpillFile> file = memory::SpillFile::open(folder, std::min(kTried, std::max(kRequest, facts.free)));
  if (!file.ok()) {
    facts.failure = file.error().message;
    return facts;
  }
  facts.direct = file->direct();
  if (file->bytes() < kTried) return facts;
  std::vector<std::byte> bytes(as_index(kRequest), std::byte{1});
  facts.write = rate_of([&](Bytes offset) { return file->write(offset, bytes); });
  facts.read = rate_of([&](Bytes offset) { return file->read(offset, bytes); });
  return facts;
}

}  // namespace sluice::doctor
