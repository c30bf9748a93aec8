#include "sluice/memory/faults/user_faults.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"

namespace sluice::memory {
namespace {

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

void protect(std::byte* begin, Bytes bytes, int protection) {
  SLUICE_CHECK(::mprotect(begin, as_index(bytes), protection) == 0,
               fmt::format("memory can be protected: {} (vm.max_map_count?)", std::strerror(errno)));
}

// The memory at `from` stays, without pages.
void move_pages(std::byte* from, std::byte* to, Bytes bytes) {
  void* const moved =
      ::mremap(from, as_index(bytes), as_index(bytes), MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to);
  SLUICE_CHECK(moved == to, fmt::format("pages can be moved: {} (vm.max_map_count?)", std::strerror(errno)));
}

std::uint64_t number(const std::byte* address) { return reinterpret_cast<std::uint64_t>(address); }

int open_faults() {
  const int flags = O_CLOEXEC | O_NONBLOCK;
  const auto whole = static_cast<int>(::syscall(SYS_userfaultfd, flags));
  if (whole >= 0 || errno != EPERM) return whole;
  return static_cast<int>(::syscall(SYS_userfaultfd, flags | UFFD_USER_MODE_ONLY));
}

Error unsupported(const std::string& what) {
  return {
      ErrorCode::kUnsupported,
      fmt::format(
          "memory that is filled when it is touched needs userfaultfd, and {} ({}): a kernel from 5.7 on has it; in a "
          "container, allow the call",
          what, std::strerror(errno))};
}

}  // namespace

Result<UserFaults> UserFaults::open() {
  const int faults = open_faults();
  if (faults < 0) return unsupported("this system does not allow it");
  UserFaults opened(faults, ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (opened.stopping_ < 0) return unsupported("there is no descriptor left");
  uffdio_api api{};
  api.api = UFFD_API;
  if (::ioctl(faults, UFFDIO_API, &api) != 0) return unsupported("this kernel has another one");
  return opened;
}

UserFaults::UserFaults(UserFaults&& other) noexcept
    : faults_(std::exchange(other.faults_, -1)), stopping_(std::exchange(other.stopping_, -1)) {}

UserFaults::~UserFaults() {
  if (faults_ >= 0) ::close(faults_);
  if (stopping_ >= 0) ::close(stopping_);
}

Status UserFaults::watch(std::byte* begin, Bytes bytes) const {
  if (!enlist(begin, bytes)) return unsupported("this memory cannot be watched");
  if (::madvise(begin, as_index(bytes), MADV_DONTFORK) != 0) return unsupported("children cannot be kept from it");
  protect(begin, bytes, PROT_READ);
  return {};
}

bool UserFaults::enlist(std::byte* begin, Bytes bytes) const {
  uffdio_register range{};
  range.range = {.start = number(begin), .len = static_cast<std::uint64_t>(bytes)};
  range.mode = UFFDIO_REGISTER_MODE_MISSING;
  return ::ioctl(faults_, UFFDIO_REGISTER, &range) == 0;
}

// What comes with the pages is not watched; it is as long as they are there, so that nobody finds them missing unwatched.
void UserFaults::show(std::byte* to, std::byte* from, Bytes bytes) const {
  protect(from, bytes, PROT_READ);
  move_pages(from, to, bytes);
  SLUICE_CHECK(enlist(to, bytes), "memory can be watched");
}

// Whoever writes them just then is stopped first.
void UserFaults::take_back(std::byte* from, std::byte* to, Bytes bytes) const {
  protect(from, bytes, PROT_READ);
  move_pages(from, to, bytes);
  protect(to, bytes, PROT_READ | PROT_WRITE);
}

void UserFaults::wake(std::byte* begin, Bytes bytes) const {
  uffdio_range range{.start = number(begin), .len = static_cast<std::uint64_t>(bytes)};
  SLUICE_CHECK(::ioctl(faults_, UFFDIO_WAKE, &range) == 0, "who waits can be woken");
}

std::optional<std::byte*> UserFaults::next() const {
  for (;;) {
    uffd_msg message{};
    const ssize_t got = ::read(faults_, &message, sizeof message);
    if (got == sizeof message && message.event == UFFD_EVENT_PAGEFAULT) {
      return reinterpret_cast<std::byte*>(message.arg.pagefault.address);
    }
    pollfd either[] = {{.fd = faults_, .events = POLLIN, .revents = 0},
                       {.fd = stopping_, .events = POLLIN, .revents = 0}};
    if (::poll(either, 2, -1) > 0 && either[1].revents != 0) return std::nullopt;
  }
}

void UserFaults::stop() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stopping_, &one, sizeof one);
}

}  // namespace sluice::memory
