#include "sluice/memory/arena.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include "sluice/memory/machine.hpp"

namespace sluice {
namespace {

constexpr Bytes kHugePage = 2 * kMiB;

std::byte* map_pages(Bytes bytes) {
  void* address =
      ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return address == MAP_FAILED ? nullptr : static_cast<std::byte*>(address);
}

void unmap_pages(std::byte* data, Bytes bytes) {
  if (bytes > 0) ::munmap(data, static_cast<std::size_t>(bytes));
}

// Maps one huge page more than asked for and gives back what lies before and after the aligned range.
std::byte* map_aligned(Bytes bytes) {
  std::byte* const whole = map_pages(bytes + kHugePage);
  if (whole == nullptr) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(whole);
  const Bytes before = align_up(static_cast<Bytes>(address), kHugePage) - static_cast<Bytes>(address);
  unmap_pages(whole, before);
  unmap_pages(whole + before + bytes, kHugePage - before);
  return whole + before;
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

}  // namespace

Result<Arena> Arena::map(Bytes bytes, const std::string& name) {
  bytes = align_down(bytes, kTensorAlignment);
  if (bytes <= 0) return Arena();
  std::byte* const data = map_aligned(bytes);
  if (data == nullptr) {
    return Error{ErrorCode::kOutOfSpace,
                 fmt::format("cannot map {} of memory for the arena of tier '{}': {}; ask for less, or raise the "
                             "process's memory limit",
                             format_bytes(bytes), name, std::strerror(errno))};
  }
  Arena arena(data, bytes);
  const bool advised = ::madvise(data, static_cast<std::size_t>(bytes), MADV_HUGEPAGE) == 0;
  const std::string setting = huge_page_setting();
  if (!advised || setting.empty() || setting == "never") {
    arena.notes_.push_back(
        fmt::format("arena of tier '{}' uses 4 KiB pages: this system's setting for 2 MiB pages is '{}'", name,
                    setting.empty() ? "absent" : setting));
  }
  return arena;
}

Arena::~Arena() { unmap_pages(data_, bytes_); }

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      notes_(std::move(other.notes_)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  if (this != &other) {
    unmap_pages(data_, bytes_);
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    notes_ = std::move(other.notes_);
  }
  return *this;
}

void Arena::prefault(int threads) const {
  const auto touch = [this, threads](int thread) {
    const Bytes pages = bytes_ / kTensorAlignment;
    for (Bytes page = pages * thread / threads; page < pages * (thread + 1) / threads; ++page) {
      volatile std::byte* const first = data_ + page * kTensorAlignment;
      *first = *first;  // keeps what is there
    }
  };
  std::vector<std::jthread> workers;
  for (int thread = 1; thread < threads; ++thread) workers.emplace_back(touch, thread);
  touch(0);
}

}  // namespace sluice
