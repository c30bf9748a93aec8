#include "sluice/memory/paging/user_faults.hpp"

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

std::uint64_t number(const std::byte* address) { return reinterpret_cast<std::uint64_t>(address); }

int open_faults() {
  const int flags = O_CLOEXEC | O_NONBLOCK;
  const auto whole = static_cast<int>(::syscall(SYS_userfaultfd, flags));
  if (whole >= 0 || errno != EPERM) return whole;
  return static_cast<int>(::syscall(SYS_userfaultfd, flags | UFFD_USER_MODE_ONLY));
}

Error unsupported(const std::string& what) {
  return {ErrorCode::kUnsupported,
          fmt::format("memory that is filled when it is touched needs userfaultfd, and {} ({}): a kernel from 5.7 on has it; in a "
                      "container, allow the call",
                      what, std::strerror(errno))};
}

}  // namespace

Result<UserFaults> UserFaults::open() {
  const int faults = open_faults();
  if (faults < 0) return unsupported("this system does not allow it");
  UserFaults opened(faults, ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP;
  if (::ioctl(faults, UFFDIO_API, &api) != 0) return unsupported("this kernel's cannot protect pages");
  if (opened.stopping_ < 0) return unsupported("there is no descriptor left");
  return opened;
}

UserFaults::UserFaults(UserFaults&& other) noexcept
    : faults_(std::exchange(other.faults_, -1)), stopping_(std::exchange(other.stopping_, -1)) {}

UserFaults::~UserFaults() {
  if (faults_ >= 0) ::close(faults_);
  if (stopping_ >= 0) ::close(stopping_);
}

Status UserFaults::watch(std::byte* begin, Bytes bytes) const {
  uffdio_register range{};
  range.range = {.start = number(begin), .len = static_cast<std::uint64_t>(bytes)};
  range.mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP;
  if (::ioctl(faults_, UFFDIO_REGISTER, &range) != 0) return unsupported("this memory cannot be watched");
  if (::madvise(begin, as_index(bytes), MADV_DONTFORK) != 0) return unsupported("children cannot be kept from it");
  return {};
}

void UserFaults::install(std::byte* to, const std::byte* from, Bytes bytes, bool protects) const {
  for (Bytes done = 0; done < bytes;) {
    uffdio_copy copy{};
    copy.dst = number(to + done);
    copy.src = number(from + done);
    copy.len = static_cast<std::uint64_t>(bytes - done);
    copy.mode = UFFDIO_COPY_MODE_DONTWAKE | (protects ? UFFDIO_COPY_MODE_WP : 0);
    const bool whole = ::ioctl(faults_, UFFDIO_COPY, &copy) == 0;
    if (copy.copy > 0) done += static_cast<Bytes>(copy.copy);
    SLUICE_CHECK(whole || copy.copy > 0 || errno == EAGAIN, fmt::format("pages are put there: {}", std::strerror(errno)));
  }
}

void UserFaults::protect(std::byte* begin, Bytes bytes) const {
  uffdio_writeprotect range{};
  range.range = {.start = number(begin), .len = static_cast<std::uint64_t>(bytes)};
  range.mode = UFFDIO_WRITEPROTECT_MODE_WP;
  while (::ioctl(faults_, UFFDIO_WRITEPROTECT, &range) != 0) SLUICE_CHECK(errno == EAGAIN, "pages can be protected");
}

void UserFaults::unprotect(std::byte* begin, Bytes bytes) const {
  uffdio_writeprotect range{};
  range.range = {.start = number(begin), .len = static_cast<std::uint64_t>(bytes)};
  while (::ioctl(faults_, UFFDIO_WRITEPROTECT, &range) != 0) SLUICE_CHECK(errno == EAGAIN, "protection can be taken away");
}

void UserFaults::wake(std::byte* begin, Bytes bytes) const {
  uffdio_range range{.start = number(begin), .len = static_cast<std::uint64_t>(bytes)};
  SLUICE_CHECK(::ioctl(faults_, UFFDIO_WAKE, &range) == 0, "who waits can be woken");
}

void UserFaults::drop(std::byte* begin, Bytes bytes) {
  SLUICE_CHECK(::madvise(begin, as_index(bytes), MADV_DONTNEED) == 0, "pages can be given back");
}

std::optional<UserFaults::Fault> UserFaults::next() const {
  for (;;) {
    uffd_msg message{};
    const ssize_t got = ::read(faults_, &message, sizeof message);
    if (got == sizeof message && message.event == UFFD_EVENT_PAGEFAULT) {
      const auto& fault = message.arg.pagefault;
      return Fault{.address = reinterpret_cast<std::byte*>(fault.address),
                   .stores = (fault.flags & UFFD_PAGEFAULT_FLAG_WRITE) != 0,
                   .is_protected = (fault.flags & UFFD_PAGEFAULT_FLAG_WP) != 0};
    }
    pollfd either[] = {{.fd = faults_, .events = POLLIN, .revents = 0}, {.fd = stopping_, .events = POLLIN, .revents = 0}};
    if (::poll(either, 2, -1) > 0 && either[1].revents != 0) return std::nullopt;
  }
}

void UserFaults::stop() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stopping_, &one, sizeof one);
}

}  // namespace sluice::memory
