#include "sluice/memory/observe/page_tracker.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/faults/fault_handler.hpp"

namespace sluice::memory {
namespace {

constexpr Bytes kLeastChunksPerThread = 8;
constexpr Bytes kChunksOfARange = 16;
constexpr std::int64_t kOtherMappings = 2000;  // libraries, arenas, stacks
constexpr std::int64_t kUsualMostMappings = 65530;

int protection_of(ChunkState state) {
  if ((state & kWritable) != 0) return PROT_READ | PROT_WRITE;
  return (state & kReadable) != 0 ? PROT_READ : PROT_NONE;
}

bool protect(std::byte* begin, Bytes bytes, int protection) {
  return ::mprotect(begin, as_index(bytes), protection) == 0;
}

std::int64_t most_mappings() {
  std::ifstream file("/proc/sys/vm/max_map_count");
  std::int64_t most = 0;
  return file >> most ? most : kUsualMostMappings;
}

Status check_options(const PageTracker::Options& options) {
  const Bytes least = kLeastChunksPerThread * options.threads * kSmallestChunk;
  if (options.reach < least) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("a software TLB of {} is too small for {} threads: give it at least {}",
                             format_bytes(options.reach), options.threads, format_bytes(least))};
  }
  // An open page amid closed ones is a mapping of its own and splits one in two.
  const Bytes most = (most_mappings() - kOtherMappings) / 2 * kSmallestChunk;
  if (options.reach > most) {
    return Error{
        ErrorCode::kBadInput,
        fmt::format("a software TLB of {} may need more mappings than this system allows (vm.max_map_count {}): "
                    "give it at most {}, or raise the limit",
                    format_bytes(options.reach), most_mappings(), format_bytes(most))};
  }
  return {};
}

std::atomic<bool> one_is_there{false};

// Initial-exec: reading it in a signal handler must not allocate.
thread_local PageTracker::CountedAccess last_counted __attribute__((tls_model("initial-exec")));

std::uint64_t pack(const TrackedRange& range, Bytes chunk) {
  return std::uint64_t{range.number()} << 32 | static_cast<std::uint64_t>(chunk);
}

}  // namespace

Bytes PageTracker::largest_chunk(Bytes reach, int threads) {
  const Bytes share = reach / (kLeastChunksPerThread * threads);
  return std::max(kSmallestChunk, static_cast<Bytes>(std::bit_floor(static_cast<std::uint64_t>(share))));
}

Status PageTracker::check_chunk(Bytes chunk, Bytes reach, int threads) {
  const Bytes most = largest_chunk(reach, threads);
  const bool power_of_two = chunk > 0 && std::has_single_bit(static_cast<std::uint64_t>(chunk));
  if (power_of_two && chunk >= kSmallestChunk && chunk <= most) return {};
  return Error{
      ErrorCode::kBadInput,
      fmt::format("memory cannot be tracked in chunks of {}: with a software TLB of {} and {} threads they are "
                  "a power of two from {} to {}",
                  format_bytes(chunk), format_bytes(reach), threads, format_bytes(kSmallestChunk), format_bytes(most))};
}

Bytes PageTracker::chunk_of(Bytes range_bytes, Bytes largest) {
  const auto share = static_cast<std::uint64_t>(range_bytes / kChunksOfARange);
  return std::clamp(static_cast<Bytes>(std::bit_floor(share)), kSmallestChunk, largest);
}

PageTracker::PageTracker(const Options& options)
    : options_(options),
      watched_(std::make_unique<std::atomic<TrackedRange*>[]>(options.most_watched)),
      open_chunks_(as_index(options.reach / kSmallestChunk + options.threads) + 64) {
  ranges_.reserve(options.most_ranges);
}

Result<std::unique_ptr<PageTracker>> PageTracker::start(const Options& options) {
#if !defined(__x86_64__)
  return Error{ErrorCode::kUnsupported, "counting page accesses tells reads from writes on x86-64 processors only"};
#endif
  SLUICE_RETURN_IF_ERROR(check_options(options));
  std::unique_ptr<PageTracker> tracker(new PageTracker(options));
  bool nobody = false;
  if (!one_is_there.compare_exchange_strong(nobody, true)) {
    return Error{ErrorCode::kUnsupported,
                 "page accesses are being counted in this process already: end that profile before starting another"};
  }
  tracker->owns_the_process_ = true;
  SLUICE_CHECK(add_fault_answerer(*tracker), "SIGSEGV can be taken");
  return tracker;
}

PageTracker::~PageTracker() {
  if (!owns_the_process_) return;
  for (std::size_t slot = 0; slot < watched_slots_.load(); ++slot) {
    if (const TrackedRange* range = watched_[slot].load()) unwatch(range->number());
  }
  remove_fault_answerer(*this);
  one_is_there = false;
}

Result<PageTracker::RangeId> PageTracker::add_range(std::byte* begin, Bytes bytes, Bytes chunk) {
  SLUICE_CHECK(chunk <= largest_chunk(options_.reach, options_.threads), "a chunk that leaves room for others");
  if (ranges_.size() == options_.most_ranges) {
    return Error{
        ErrorCode::kBadInput,
        fmt::format("more than {} ranges of memory in one profile: profile for a shorter time, or allow more ranges",
                    options_.most_ranges)};
  }
  const auto number = static_cast<RangeId>(ranges_.size());
  ranges_.push_back(std::make_unique<TrackedRange>(begin, bytes, chunk, number));
  return number;
}

// Found by the handler from the first protection on. Runs of chunks in the same state share a system call.
Status PageTracker::watch(RangeId id) {
  TrackedRange& range = *ranges_.at(id);
  for (std::size_t other = 0; other < watched_slots_.load(); ++other) {
    const TrackedRange* const present = watched_[other].load();
    SLUICE_CHECK(present == nullptr || !present->overlaps(range), "two ranges watched at once are apart");
  }
  std::size_t slot = 0;
  while (slot < options_.most_watched && watched_[slot].load() != nullptr) ++slot;
  if (slot == options_.most_watched) {
    return Error{ErrorCode::kBadInput, fmt::format("more than {} ranges watched at once", options_.most_watched)};
  }
  range.watch = all_watches.fetch_add(1) + 1;
  watched_[slot].store(&range);
  watched_slots_.store(std::max(watched_slots_.load(), slot + 1));
  for (Bytes first = 0, chunk = 0; chunk < range.chunk_count(); first = chunk) {
    const int protection = protection_of(range.state(first).load());
    while (chunk < range.chunk_count() && protection_of(range.state(chunk).load()) == protection) {
      range.state(chunk++).fetch_or(kWatched);
    }
    if (protection == (PROT_READ | PROT_WRITE)) continue;
    if (protect(range.chunk_begin(first), range.chunk_bytes(first, chunk - first), protection)) continue;
    const std::string why = std::strerror(errno);
    unwatch(id);
    return Error{
        ErrorCode::kOutOfSpace,
        fmt::format("cannot protect {} of memory to count its accesses: {}; a smaller software TLB needs fewer "
                    "mappings (vm.max_map_count)",
                    format_bytes(range.bytes()), why)};
  }
  return {};
}

void PageTracker::unwatch(RangeId id) {
  TrackedRange& range = *ranges_.at(id);
  for (Bytes chunk = 0; chunk < range.chunk_count(); ++chunk) {
    range.give_back(chunk, range.take(chunk) & static_cast<ChunkState>(~kWatched));
  }
  SLUICE_CHECK(protect(range.begin(), range.bytes(), PROT_READ | PROT_WRITE), "one range can be opened as a whole");
  for (std::size_t slot = 0; slot < watched_slots_.load(); ++slot) {
    if (watched_[slot].load() == &range) watched_[slot].store(nullptr);
  }
}

void PageTracker::count_written(RangeId id) {
  TrackedRange& range = *ranges_.at(id);
  for (Bytes chunk = 0; chunk < range.chunk_count(); ++chunk) {
    const ChunkState before = range.take(chunk);
    if ((before & kWritable) != 0) {
      range.give_back(chunk, before);
    } else {
      open(range, chunk, true, true, before);
    }
  }
}

PageTouches PageTracker::take_counts(RangeId id) {
  TrackedRange& range = *ranges_.at(id);
  return {.reads = range.reads.exchange(0), .writes = range.writes.exchange(0)};
}

Bytes PageTracker::table_bytes() const {
  Bytes bytes = static_cast<Bytes>(open_chunks_.table_bytes() + options_.most_watched * sizeof(watched_[0]) +
                                   options_.most_ranges * sizeof(ranges_[0]));
  for (const auto& range : ranges_) {
    bytes += Bytes{sizeof(TrackedRange)} + range->chunk_count() * Bytes{sizeof(ChunkState)};
  }
  return bytes;
}

bool PageTracker::answer_fault(const MemoryAccess& access) { return touch(access, last_counted) != Touch::kForeign; }

TrackedRange* PageTracker::find(std::uintptr_t address) const {
  const std::size_t slots = watched_slots_.load();
  for (std::size_t slot = 0; slot < slots; ++slot) {
    TrackedRange* const range = watched_[slot].load(std::memory_order_acquire);
    if (range != nullptr && range->contains(address)) return range;
  }
  return nullptr;
}

PageTracker::Touch PageTracker::touch(const Access& access, CountedAccess& last) {
  TrackedRange* const range = find(access.address);
  if (range == nullptr) return Touch::kForeign;
  const Bytes chunk = range->chunk_at(access.address);
  const ChunkState before = range->take(chunk);
  if ((before & kWatched) == 0 || (before & (access.write ? kWritable : kReadable)) != 0) {
    range->give_back(chunk, before);
    return Touch::kOpen;
  }
  const CountedAccess now{access, range->watch};
  if (!open(*range, chunk, access.write, now != last, before)) return Touch::kForeign;
  last = now;
  return Touch::kOpened;
}

// The chunk is the caller's and comes free here. When the kernel cannot split another mapping the whole range is
// opened, which splits none, and the count is known to be too low.
bool PageTracker::open(TrackedRange& range, Bytes chunk, bool write, bool count, ChunkState before) {
  const auto after = static_cast<ChunkState>(before | kReadable | (write ? kWritable : 0));
  bool opened = true;
  if ((before & kWatched) != 0 && !protect(range.chunk_begin(chunk), range.chunk_bytes(chunk), protection_of(after))) {
    failed_ = true;
    opened = protect(range.begin(), range.bytes(), PROT_READ | PROT_WRITE);
  }
  const std::int64_t pages = range.chunk_bytes(chunk) / kSmallestChunk;
  if (count) (write ? range.writes : range.reads).fetch_add(pages, std::memory_order_relaxed);
  range.give_back(chunk, after);
  if ((before & kReadable) == 0) enter(range, chunk);
  return opened;
}

// Puts an opened chunk last in the software TLB, and has the oldest leave while there is too much in it.
void PageTracker::enter(TrackedRange& range, Bytes chunk) {
  open_bytes_.fetch_add(range.chunk_bytes(chunk));
  open_chunks_.push(pack(range, chunk));
  while (open_bytes_.load() > options_.reach) {
    const auto oldest = open_chunks_.pop();
    if (!oldest) return;  // its thread is about to push it, and will look here itself
    close(*ranges_[*oldest >> 32], static_cast<Bytes>(*oldest & 0xFFFFFFFF));
  }
}

void PageTracker::close(TrackedRange& range, Bytes chunk) {
  const ChunkState before = range.take(chunk);
  if ((before & kWatched) != 0 && !protect(range.chunk_begin(chunk), range.chunk_bytes(chunk), PROT_NONE)) {
    failed_ = true;
  }
  open_bytes_.fetch_sub(range.chunk_bytes(chunk));
  range.give_back(chunk, before & kWatched);
}

}  // namespace sluice::memory
