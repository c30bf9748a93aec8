#include "sluice/profile/training_profile.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

#include "sluice/base/as_index.hpp"
#include "sluice/base/clock.hpp"
#include "sluice/memory/observe/disturbances.hpp"
#include "sluice/memory/observe/page_tracker.hpp"
#include "sluice/memory/observe/tlb.hpp"

namespace sluice::profile {
namespace {

constexpr std::size_t kMostBuffers = 1 << 16;  // in one profile

struct Buffer {
  std::string name;
  Bytes bytes = 0;
  std::optional<std::size_t> record;  // in the profile under way
  memory::PageTracker::RangeId range = 0;
};

// What the calls of this file share. Locked by each of them, never by the fault's handler, which sees the tracker only.
struct State {
  std::mutex mutex;
  std::map<std::byte*, Buffer> buffers;
  std::unique_ptr<memory::PageTracker> tracker;  // while a profile is under way
  Bytes largest_chunk = 0;
  Clock::time_point start;
  TrainingProfile profile;
};

State& state() {
  static State the_state;
  return the_state;
}

Bytes whole_pages(Bytes bytes) { return align_up(bytes, memory::kSmallestChunk); }

Status begin_tracking(State& now, std::byte* begin, Buffer& buffer) {
  const Bytes bytes = whole_pages(buffer.bytes);
  SLUICE_ASSIGN(buffer.range,
                now.tracker->add_range(begin, bytes, memory::PageTracker::chunk_of(bytes, now.largest_chunk)));
  SLUICE_RETURN_IF_ERROR(now.tracker->watch(buffer.range));
  buffer.record = now.profile.buffers.size();
  now.profile.buffers.push_back({.name = buffer.name, .bytes = buffer.bytes, .first_layer = now.profile.layers});
  return {};
}

// The layer under way counts in full.
void finish_tracking(State& now, Buffer& buffer) {
  if (!buffer.record) return;
  BufferRecord& record = now.profile.buffers[*buffer.record];
  now.tracker->unwatch(buffer.range);
  const memory::PageTouches touches = now.tracker->take_counts(buffer.range);
  record.reads = touches.reads;
  record.writes = touches.writes;
  record.end_layer = now.profile.layers + 1;
  buffer.record.reset();
}

void abandon(State& now) {
  for (auto& [begin, buffer] : now.buffers) finish_tracking(now, buffer);
  now.tracker.reset();
}

}  // namespace

std::int64_t BufferRecord::pages() const { return whole_pages(bytes) / memory::kSmallestChunk; }

double BufferRecord::accesses_per_page() const {
  return static_cast<double>(reads + writes) / static_cast<double>(pages());
}

Result<void*> allocate_tracked(Bytes bytes, std::string name) {
  if (bytes < 1) {
    return Error{ErrorCode::kBadInput, fmt::format("a buffer '{}' of {} bytes: ask for at least one", name, bytes)};
  }
  void* const memory =
      ::mmap(nullptr, as_index(whole_pages(bytes)), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return Error{ErrorCode::kOutOfSpace,
                 fmt::format("no memory for buffer '{}' of {}: {}", name, format_bytes(bytes), std::strerror(errno)),
                 bytes};
  }
  State& now = state();
  const std::lock_guard lock(now.mutex);
  auto* const begin = static_cast<std::byte*>(memory);
  Buffer buffer{.name = std::move(name), .bytes = bytes};
  if (now.tracker) {
    if (const Status tracking = begin_tracking(now, begin, buffer); !tracking.ok()) {
      ::munmap(memory, as_index(whole_pages(bytes)));
      return tracking.error();
    }
  }
  now.buffers.emplace(begin, std::move(buffer));
  return memory;
}

Status release_tracked(void* buffer) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  const auto found = now.buffers.find(static_cast<std::byte*>(buffer));
  if (found == now.buffers.end()) {
    return Error{ErrorCode::kBadInput,
                 "release_tracked() was given memory that allocate_tracked() did not return, or "
                 "that was released before"};
  }
  finish_tracking(now, found->second);
  ::munmap(buffer, as_index(whole_pages(found->second.bytes)));
  now.buffers.erase(found);
  return {};
}

Status start_profile(const TrainingProfileOptions& options) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (now.tracker) return Error{ErrorCode::kBadInput, "a profile is under way: call end_profile() first"};
  if (options.threads < 1) {
    return Error{ErrorCode::kBadInput, fmt::format("a profile of {} threads: give at least 1", options.threads)};
  }
  now.profile = {};
  now.profile.notes = memory::counting_disturbances();
  now.profile.tlb_reach = options.tlb_reach;
  if (options.tlb_reach == 0) {
    const memory::TlbReach tlb = memory::machine_tlb_reach();
    now.profile.tlb_reach = tlb.bytes * options.threads;
    now.profile.notes.push_back(memory::describe(tlb));
  }
  now.largest_chunk = options.largest_chunk == 0 ? memory::kSmallestChunk : options.largest_chunk;
  SLUICE_RETURN_IF_ERROR(memory::PageTracker::check_chunk(now.largest_chunk, now.profile.tlb_reach, options.threads));
  SLUICE_ASSIGN(now.tracker, memory::PageTracker::start({.reach = now.profile.tlb_reach,
                                                         .threads = options.threads,
                                                         .most_ranges = kMostBuffers,
                                                         .most_watched = kMostBuffers}));
  for (auto& [begin, buffer] : now.buffers) {
    if (const Status tracking = begin_tracking(now, begin, buffer); !tracking.ok()) {
      abandon(now);
      return tracking;
    }
  }
  now.start = Clock::now();
  return {};
}

void add_layer() {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  ++now.profile.layers;
}

Result<TrainingProfile> end_profile() {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (!now.tracker) return Error{ErrorCode::kBadInput, "no profile is under way: call start_profile() first"};
  now.profile.seconds = std::chrono::duration<Seconds>(Clock::now() - now.start).count();
  const bool complete = now.tracker->complete();
  abandon(now);
  if (!complete) {
    now.profile.notes.emplace_back("the kernel refused to split more mappings (vm.max_map_count): counts are too low");
  }
  for (BufferRecord& record : now.profile.buffers) {
    record.end_layer = std::min(record.end_layer, std::max(now.profile.layers, record.first_layer + 1));
  }
  return std::move(now.profile);
}

}  // namespace sluice::profile
