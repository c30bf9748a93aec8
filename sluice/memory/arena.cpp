#include "sluice/memory/arena.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <limits>
#include <thread>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/base/time_of.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::memory {
namespace {

void unmap_pages(std::byte* data, Bytes bytes) {
  if (bytes > 0) ::munmap(data, as_index(bytes));
}

// The bracketed word of "always [madvise] never"; empty where the kernel has no such setting.
std::string huge_page_setting() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::string line{std::istreambuf_iterator<char>(file), {}};
  const auto open = line.find('[');
  const auto close = line.find(']');
  if (open == std::string::npos || close == std::string::npos) return "";
  return line.substr(open + 1, close - open - 1);
}

// A file in memory whose pages can be mapped more than once.
class SharedPages {
 public:
  explicit SharedPages(Bytes bytes) : file_(::memfd_create("sluice-arena", MFD_CLOEXEC)), bytes_(bytes) {
    made_ = file_ >= 0 && ::ftruncate(file_, bytes) == 0;
  }
  ~SharedPages() {
    if (file_ >= 0) ::close(file_);
  }
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;

  bool made() const { return made_; }

  bool map_at(std::byte* address, Interval<Bytes> bytes) const {
    const auto size = as_index(bytes.length());
    return ::mmap(address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_, bytes.begin) != MAP_FAILED;
  }

  // Whatever; but something, so that addresses have no gap, and can be registered for direct transfers as a whole.
  bool fill(std::byte* address, Bytes bytes) const {
    for (Bytes begin = 0; begin < bytes; begin += bytes_) {
      if (!map_at(address + begin, {0, std::min(bytes_, bytes - begin)})) return false;
    }
    return true;
  }

  bool map_all(std::byte* base, std::span<const Stitch> stitches) const {
    bool mapped = map_at(base, {0, bytes_});
    Bytes end = bytes_;
    for (const Stitch& stitch : stitches) {
      mapped = mapped && fill(base + end, stitch.address - end);
      end = stitch.address;
      for (const Interval<Bytes>& piece : stitch.memory) {
        mapped = mapped && map_at(base + end, piece);
        end += piece.length();
      }
    }
    return mapped;
  }

 private:
  int file_ = -1;
  Bytes bytes_ = 0;
  bool made_ = false;
};

// Of a page that is there, a touch takes tens of nanoseconds. Some hosts keep page tables of their own for a guest. Where a
// huge page is mapped as a whole and in pieces, they throw those tables away, every 0.51 s on one host, and then each page
// takes 0.3 to 5 us (MobileNet v2 in a fifth of its memory, 0.9 GiB of addresses for 0.18 GiB: what takes 0.6 s took 0.9 s).
constexpr Seconds kSlowTouch = 200e-9;
constexpr Seconds kTouching = 0.6;
constexpr auto kBetweenTouches = std::chrono::milliseconds(10);

// Whether a good part of the pages is slow: a turn of another program makes one chunk slow, however long it takes.
bool touches_slowly(const Arena& arena) {
  constexpr Bytes kChunks = 64;
  int slow_chunks = 0;
  const Bytes pages = arena.bytes() / kBlockAlignment;
  for (Bytes chunk = 0; chunk < kChunks; ++chunk) {
    const Interval<Bytes> touched{pages * chunk / kChunks, pages * (chunk + 1) / kChunks};
    const Seconds seconds = time_of([&] { arena.touch(touched); });
    if (seconds > kSlowTouch * static_cast<double>(touched.length())) ++slow_chunks;
  }
  return slow_chunks >= kChunks / 10;
}

bool touches_become_slow(const Arena& arena) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<Seconds>(kTouching);
  for (; std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(kBetweenTouches)) {
    if (touches_slowly(arena)) return true;
  }
  return false;
}

Error no_stitches(Bytes bytes, std::span<const Stitch> stitches, const std::string& name) {
  return {ErrorCode::kOutOfSpace,
          fmt::format("cannot map {} of memory in {} stitches for the arena of tier '{}': {}; ask for less, or "
                      "raise the process's memory limit or vm.max_map_count",
                      format_bytes(bytes), stitches.size(), name, std::strerror(errno)),
          bytes};
}

}  // namespace

// Maps one huge page more than asked for and gives back what lies before and after the aligned range.
std::byte* map_aligned(Bytes bytes, int protection, int flags) {
  if (bytes > std::numeric_limits<Bytes>::max() - kHugePage) {
    errno = ENOMEM;
    return nullptr;
  }
  void* const mapped =
      ::mmap(nullptr, as_index(bytes + kHugePage), protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const whole = static_cast<std::byte*>(mapped);
  const auto address = reinterpret_cast<Bytes>(whole);
  const Bytes before = align_up(address, kHugePage) - address;
  unmap_pages(whole, before);
  unmap_pages(whole + before + bytes, kHugePage - before);
  return whole + before;
}

bool put_into_huge_pages(std::byte* data, Bytes bytes) {
  constexpr int kCollapse = 25;  // MADV_COLLAPSE of Linux 6.1, which not every C library has a name for
  const auto size = as_index(align_down(bytes, kHugePage));
  if (size == 0) return true;
  ::madvise(data, size, MADV_HUGEPAGE);
  ::madvise(data, size, MADV_POPULATE_WRITE);
  return ::madvise(data, size, kCollapse) == 0;
}

Result<Arena> Arena::map_stitched(Bytes bytes, std::span<const Stitch> stitches, const std::string& name) {
  const Bytes addresses = stitch_end(stitches.back());
  std::byte* const data = map_aligned(addresses, PROT_NONE);
  Arena arena(data, data == nullptr ? 0 : addresses);
  if (data == nullptr) return no_stitches(bytes, stitches, name);
  {
    const SharedPages pages(bytes);
    if (!pages.made() || !pages.map_all(data, stitches)) return no_stitches(bytes, stitches, name);
    const bool huge = put_into_huge_pages(data, bytes);
    if (!huge) {
      arena.notes_.push_back(
          fmt::format("arena of tier '{}' uses 4 KiB pages where memory is stitched: 2 MiB pages of "
                      "shared memory could not be had ({})",
                      name, std::strerror(errno)));
    }
    arena.prefault(1);
    if (!huge || bytes < kHugePage || !touches_become_slow(arena)) return arena;
  }
  // Once more, in small pages: the memory of the first file goes as its mappings are replaced.
  const SharedPages pages(bytes);
  if (!pages.made() || !pages.map_all(data, stitches)) return no_stitches(bytes, stitches, name);
  arena.prefault(1);
  return arena;
}

Result<Arena> Arena::map(Bytes bytes, const std::string& name) {
  bytes = align_down(bytes, kBlockAlignment);
  if (bytes <= 0) return Arena();
  std::byte* const data = map_aligned(bytes, PROT_READ | PROT_WRITE);
  if (data == nullptr) {
    return Error{ErrorCode::kOutOfSpace,
                 fmt::format("cannot map {} of memory for the arena of tier '{}': {}; ask for less, or raise the "
                             "process's memory limit",
                             format_bytes(bytes), name, std::strerror(errno)),
                 bytes};
  }
  Arena arena(data, bytes);
  ::madvise(data, as_index(bytes),
            MADV_DONTFORK);  // pages that are pinned for transfers would be copied for every child
  const bool advised = ::madvise(data, as_index(bytes), MADV_HUGEPAGE) == 0;
  const std::string setting = huge_page_setting();
  if (!advised || setting.empty() || setting == "never") {
    arena.notes_.push_back(
        fmt::format("arena of tier '{}' uses 4 KiB pages: this system's setting for 2 MiB pages is '{}'", name,
                    setting.empty() ? "absent" : setting));
  }
  return arena;
}

Arena Arena::adopt(std::byte* data, Bytes bytes, Release release, std::vector<std::string> notes) {
  Arena arena(data, bytes);
  arena.release_ = release;
  arena.notes_ = std::move(notes);
  return arena;
}

Arena::~Arena() { give_back(); }

void Arena::give_back() {
  if (release_ != nullptr) {
    release_(data_, bytes_);
  } else {
    unmap_pages(data_, bytes_);
  }
}

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      release_(std::exchange(other.release_, nullptr)),
      notes_(std::move(other.notes_)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  if (this != &other) {
    give_back();
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    release_ = std::exchange(other.release_, nullptr);
    notes_ = std::move(other.notes_);
  }
  return *this;
}

void Arena::touch(Interval<Bytes> pages) const {
  for (Bytes page = pages.begin; page < pages.end; ++page) {
    volatile std::byte* const first = data_ + page * kBlockAlignment;
    *first = *first;  // keeps what is there
  }
}

void Arena::prefault(int threads) const {
  if (release_ != nullptr) return;
  const Bytes pages = bytes_ / kBlockAlignment;
  std::vector<std::jthread> workers;
  for (int thread = 1; thread < threads; ++thread) {
    workers.emplace_back([=, this] { touch({pages * thread / threads, pages * (thread + 1) / threads}); });
  }
  touch({0, pages / threads});
}

}  // namespace sluice::memory
