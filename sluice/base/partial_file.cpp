#include "sluice/base/partial_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <string_view>

#include "sluice/base/as_index.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".partial";
constexpr const char* kAccessList = "system.posix_acl_access";

// Whoever collects looks by the same lock: between open() and flock() it may take the new file for one left behind.
bool lock_own(int descriptor) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  struct stat now {};
  return ::fstat(descriptor, &now) == 0 && now.st_nlink > 0;
}

// "<process>-<n>"
bool is_counted(std::string_view middle) {
  const auto dash = middle.find('-');
  const auto digits = [](std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  };
  return dash != std::string_view::npos && digits(middle.substr(0, dash)) && digits(middle.substr(dash + 1));
}

bool is_partial_of(const std::string& name, const std::string& target) {
  const std::string prefix = target + ".";
  if (!name.starts_with(prefix) || !name.ends_with(kSuffix)) return false;
  if (name.size() <= prefix.size() + kSuffix.size()) return false;
  return is_counted(std::string_view(name).substr(prefix.size(), name.size() - prefix.size() - kSuffix.size()));
}

void remove_if_left(const fs::path& partial) {
  const int descriptor = ::open(partial.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return;
  struct stat now {};
  const bool ours = ::fstat(descriptor, &now) == 0 && S_ISREG(now.st_mode) && now.st_uid == ::geteuid();
  if (ours && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0) ::unlink(partial.c_str());
  ::close(descriptor);
}

void take_access_list(int descriptor, const fs::path& target) {
  std::array<char, 4096> list{};
  const ssize_t size = ::getxattr(target.c_str(), kAccessList, list.data(), list.size());
  if (size > 0) (void)::fsetxattr(descriptor, kAccessList, list.data(), as_index(size), 0);
}

}  // namespace

int open_partial(const fs::path& target, mode_t mode, fs::path& partial) {
  static std::atomic<unsigned> count = 0;
  while (true) {
    partial = target;
    partial += fmt::format(".{}-{}{}", ::getpid(), count++, kSuffix);
    const int descriptor = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor >= 0 && lock_own(descriptor)) return descriptor;
    if (descriptor >= 0) {
      ::close(descriptor);
    } else if (errno != EEXIST) {  // one that exists was left by a process of this number
      return -1;
    }
  }
}

void collect_partials(const fs::path& target) {
  std::error_code unreadable;
  const fs::path folder = target.has_parent_path() ? target.parent_path() : ".";
  const std::string name = target.filename().string();
  for (fs::directory_iterator each(folder, unreadable), end; !unreadable && each != end; each.increment(unreadable)) {
    if (is_partial_of(each->path().filename().string(), name)) remove_if_left(each->path());
  }
}

void take_rights(int descriptor, const fs::path& target, const struct stat& old) {
  constexpr mode_t kRights = S_IRWXU | S_IRWXG | S_IRWXO;
  constexpr unsigned kGroupBits = 3;
  constexpr auto kKeep = static_cast<uid_t>(-1);
  if (::fchown(descriptor, old.st_uid, old.st_gid) != 0) (void)!::fchown(descriptor, kKeep, old.st_gid);
  struct stat now {};
  if (::fstat(descriptor, &now) != 0) return;
  mode_t mode = old.st_mode & kRights;
  const bool same_group = now.st_gid == old.st_gid;
  if (!same_group) mode &= (S_IRWXU | S_IRWXO) | ((mode & S_IRWXO) << kGroupBits);
  (void)::fchmod(descriptor, mode);
  if (same_group) take_access_list(descriptor, target);
}

}  // namespace sluice
