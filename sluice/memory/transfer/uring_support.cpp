#include "sluice/memory/transfer/uring_support.hpp"

#include <liburing.h>
#include <sys/mman.h>

#include <cstring>

#include "sluice/base/as_index.hpp"

namespace sluice::memory {
namespace {

// Pages that nobody touches, so that the kernel has to find them all.
bool registers(io_uring& ring, Bytes bytes) {
  const auto size = as_index(bytes);
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  const iovec buffer{memory, size};
  const bool done = io_uring_register_buffers(&ring, &buffer, 1) == 0;
  if (done) io_uring_unregister_buffers(&ring);
  ::munmap(memory, size);
  return done;
}

}  // namespace

UringSupport find_uring(Bytes bytes) {
  UringSupport found{.tried = bytes};
  io_uring ring{};
  int made = io_uring_queue_init(4, &ring, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
  found.deferred = made == 0;
  if (made == -EINVAL) made = io_uring_queue_init(4, &ring, 0);
  found.available = made == 0;
  if (!found.available) {
    found.reason = std::strerror(-made);
    return found;
  }
  found.registered = registers(ring, bytes);
  io_uring_queue_exit(&ring);
  return found;
}

}  // namespace sluice::memory
