#include "tests/fuzz/guarded_tier.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "sluice/base/as_index.hpp"

namespace sluice::tests {
namespace {

constexpr Bytes kGuard = 64 * kKiB;

void map_at(std::byte* address, Interval<Bytes> bytes, int file) {
  if (bytes.empty()) return;
  void* const mapped =
      ::mmap(address, as_index(bytes.length()), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, bytes.begin);
  SLUICE_CHECK(mapped != MAP_FAILED, "memory for a test");
}

}  // namespace

GuardedTier::GuardedTier(Bytes bytes, std::span<const memory::Stitch> stitches) {
  bytes = align_down(bytes, memory::kBlockAlignment);
  addresses_ = (stitches.empty() ? bytes : memory::stitch_end(stitches.back())) + 2 * kGuard;
  void* const mapped =
      ::mmap(nullptr, as_index(addresses_), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  SLUICE_CHECK(mapped != MAP_FAILED, "addresses for a test");
  data_ = static_cast<std::byte*>(mapped) + kGuard;
  const int file = ::memfd_create("guarded", MFD_CLOEXEC);
  SLUICE_CHECK(file >= 0 && ::ftruncate(file, bytes) == 0, "memory for a test");
  map_at(data_, {0, bytes}, file);
  for (const memory::Stitch& stitch : stitches) {
    Bytes address = stitch.address;
    for (const Interval<Bytes>& piece : stitch.memory) {
      map_at(data_ + address, piece, file);
      address += piece.length();
    }
  }
  ::close(file);
}

GuardedTier::~GuardedTier() {
  if (data_ != nullptr) ::munmap(data_ - kGuard, as_index(addresses_));
}

GuardedTier::GuardedTier(GuardedTier&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), addresses_(std::exchange(other.addresses_, 0)) {}

}  // namespace sluice::tests
