#include "sluice/memory/allocators/page_pool.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::memory {

Result<std::unique_ptr<PagePool>> PagePool::reserve(Bytes addresses) {
  const Bytes mapped = align_up(addresses, kHugePage);
  std::byte* const data = map_aligned(mapped, PROT_READ | PROT_WRITE, MAP_NORESERVE);
  if (data == nullptr) {
    return Error{ErrorCode::kOutOfSpace,
                 fmt::format("the system reserves no {} of addresses: {} (limits: ulimit -v, and "
                             "/proc/sys/vm/overcommit_memory)",
                             format_bytes(mapped), std::strerror(errno)),
                 mapped};
  }
  (void)::madvise(data, as_index(mapped), MADV_HUGEPAGE);  // refused: smaller pages do as well
  return std::make_unique<PagePool>(
      Arena::adopt(data, mapped, [](std::byte* pages, Bytes bytes) { (void)::munmap(pages, as_index(bytes)); }));
}

std::byte* PagePool::take(Bytes bytes) {
  const Bytes whole = align_up(std::max<Bytes>(bytes, 1), kBlockAlignment);
  const std::scoped_lock lock(mutex_);
  std::optional<Bytes> begin = warm_.take(whole);
  if (!begin) begin = grow(whole);
  if (!begin) return nullptr;
  taken_.emplace(*begin, Taken{whole, ++takes_});
  used_ += whole;
  peak_used_ = std::max(peak_used_, used_);
  peak_resident_ = std::max(peak_resident_, resident_now());
  return arena_.data() + *begin;
}

std::optional<Bytes> PagePool::grow(Bytes bytes) {
  const Interval<Bytes> short_one = longest_to_extend(bytes);
  const Bytes whole = align_up(bytes - short_one.length(), kHugePage);
  Interval<Bytes> added{short_one.end, short_one.end + whole};
  if (short_one.empty()) {
    const std::optional<Bytes> begin = cold_.take(whole);
    if (!begin) return std::nullopt;
    added = {*begin, *begin + whole};
  } else {
    warm_.take(short_one);
    cold_.take(added);
  }
  const Bytes fresh = whole - gather(added);
  release(resident_now() - limit_);
  grown_ += fresh;
  const Bytes begin = added.begin - short_one.length();
  warm_.give({begin + bytes, added.end});
  return begin;
}

// A free range that is too short, with addresses behind it: so the huge page in which one range ends holds the next one's
// beginning.
Interval<Bytes> PagePool::longest_to_extend(Bytes bytes) const {
  Interval<Bytes> longest;
  for (const auto& [begin, end] : warm_.ranges()) {
    const Interval<Bytes> range{begin, end};
    if (range.length() > longest.length() && cold_.free_from(end) >= align_up(bytes - range.length(), kHugePage)) {
      longest = range;
    }
  }
  return longest;
}

// Moves free memory from wherever it is to these addresses: only page tables change. Returns how much, from the beginning.
Bytes PagePool::gather(Interval<Bytes> into) {
  Bytes gathered = 0;
  while (gathered < into.length()) {
    const std::optional<Interval<Bytes>> range = warm_.largest_within(kHugePage);
    if (!range) break;
    const Interval<Bytes> moved{range->begin, range->begin + std::min(range->length(), into.length() - gathered)};
    if (!move_pages(moved, into.begin + gathered)) break;
    renew(moved);
    warm_.take(moved);
    cold_.give(moved);
    gathered += moved.length();
  }
  return gathered;
}

// One huge page at a time: what was moved before is a mapping of its own.
bool PagePool::move_pages(Interval<Bytes> from, Bytes to) {
  for (Bytes page = from.begin; page < from.end; page += kHugePage, to += kHugePage) {
    if (::mremap(arena_.data() + page, kHugePage, kHugePage, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP,
                 arena_.data() + to) == MAP_FAILED) {
      return false;
    }
  }
  return true;
}

// Gives the kernel that much of what is free, or all of it, beginning with the largest range.
void PagePool::release(Bytes bytes) {
  while (bytes > 0) {
    const std::optional<Interval<Bytes>> range = warm_.largest_within(kHugePage);
    if (!range) return;
    const Bytes length = std::min(range->length(), align_up(bytes, kHugePage));
    const Interval<Bytes> released{range->end - length, range->end};
    warm_.take(released);
    renew(released);
    cold_.give(released);
    bytes -= length;
  }
}

// Fresh memory over what is nobody's: the kernel has the pages back, and a mapping that moved pages had made of its own is one
// with its neighbours again, of which a process may have no more than vm.max_map_count.
void PagePool::renew(Interval<Bytes> range) {
  std::byte* const begin = arena_.data() + range.begin;
  const std::size_t length = as_index(range.length());
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (::mmap(begin, length, PROT_READ | PROT_WRITE, kFlags, -1, 0) == MAP_FAILED) {
    SLUICE_CHECK(::madvise(begin, length, MADV_DONTNEED) == 0, "private memory can be given back");
    return;
  }
  (void)::madvise(begin, length, MADV_HUGEPAGE);
}

void PagePool::give(std::byte* pages) {
  const std::scoped_lock lock(mutex_);
  const auto taken = taken_.find(pages - arena_.data());
  SLUICE_CHECK(taken != taken_.end(), "what is given was taken");
  const Bytes begin = taken->first, bytes = taken->second.bytes;
  taken_.erase(taken);
  used_ -= bytes;
  warm_.give({begin, begin + bytes});
  release(resident_now() - limit_);
}

bool PagePool::owns(const void* address) const {
  const auto* const byte = static_cast<const std::byte*>(address);
  return byte >= arena_.data() && byte < arena_.data() + arena_.bytes();
}

std::int64_t PagePool::takes() const {
  const std::scoped_lock lock(mutex_);
  return takes_;
}

std::int64_t PagePool::number_of(const std::byte* pages) const {
  const std::scoped_lock lock(mutex_);
  const auto taken = taken_.find(pages - arena_.data());
  return taken == taken_.end() ? 0 : taken->second.number;
}

void PagePool::set_limit(Bytes resident) {
  const std::scoped_lock lock(mutex_);
  limit_ = resident;
  release(resident_now() - limit_);
}

Bytes PagePool::used() const {
  const std::scoped_lock lock(mutex_);
  return used_;
}

Bytes PagePool::peak_used() const {
  const std::scoped_lock lock(mutex_);
  return peak_used_;
}

Bytes PagePool::peak_resident() const {
  const std::scoped_lock lock(mutex_);
  return peak_resident_;
}

void PagePool::begin_peaks() {
  const std::scoped_lock lock(mutex_);
  peak_used_ = used_;
  peak_resident_ = resident_now();
}

Bytes PagePool::resident() const {
  const std::scoped_lock lock(mutex_);
  return resident_now();
}

// Whole huge pages that are free can be given to the kernel at any moment.
Bytes PagePool::held() const {
  const std::scoped_lock lock(mutex_);
  return resident_now() - warm_.free_within(kHugePage);
}

Bytes PagePool::grown() const {
  const std::scoped_lock lock(mutex_);
  return grown_;
}

}  // namespace sluice::memory
