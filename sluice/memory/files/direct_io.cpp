#include "sluice/memory/files/direct_io.hpp"

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace sluice::memory {

// By the system call itself: the C library's structure may be older than the kernel's.
std::optional<Bytes> direct_io_block(int descriptor) {
  struct statx found {};
  if (::syscall(SYS_statx, descriptor, "", AT_EMPTY_PATH, STATX_DIOALIGN, &found) != 0) return std::nullopt;
  if ((found.stx_mask & STATX_DIOALIGN) == 0) return std::nullopt;
  if (found.stx_dio_offset_align == 0) return 0;
  return static_cast<Bytes>(std::max(found.stx_dio_offset_align, found.stx_dio_mem_align));
}

}  // namespace sluice::memory
