#include "sluice/memory/paging/paged_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"
#include "sluice/base/threads/cpu_affinity.hpp"
#include "sluice/base/threads/wake_promptly.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::memory {
namespace {

constexpr Bytes kLargestPart = 2 * kMiB;
constexpr Bytes kPartsAtLeast = 32;      // in what is resident, where parts can be smaller
constexpr int kNeighbours = 4;           // are read where the history says nothing
constexpr std::size_t kPartsAhead = 32;  // enough to keep a disk busy; more would take the place of what is used again

[[noreturn]] void end_process(const std::string& why) {
  std::fprintf(stderr, "sluice: memory that is on the disk was touched, and cannot be read: %s\n", why.c_str());
  std::abort();
}

// Who waits for a page can be told nothing else.
template <typename Work>
void or_end(const Work& work) {
  try {
    work();
  } catch (const std::exception& failure) {
    end_process(failure.what());
  }
}

}  // namespace

// -- opening

Result<std::unique_ptr<PagedMemory>> PagedMemory::open(Config config) {
  if (config.resident < least_resident()) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("{} is too little for memory that comes from a disk: give it {} or more",
                             format_bytes(config.resident), format_bytes(least_resident())),
                 least_resident(), config.resident};
  }
  SLUICE_ASSIGN(UserFaults faults, UserFaults::open());
  std::unique_ptr<PagedMemory> memory(new PagedMemory(std::move(config), std::move(faults)));
  SLUICE_RETURN_IF_ERROR(memory->start());
  return memory;
}

PagedMemory::PagedMemory(Config config, UserFaults faults) : config_(std::move(config)), faults_(std::move(faults)) {}

Status PagedMemory::start() {
  part_bytes_ = std::min(
      kLargestPart, static_cast<Bytes>(std::bit_floor(static_cast<std::uint64_t>(config_.resident / kPartsAtLeast))));
  SLUICE_ASSIGN(files_, PartFiles::open(config_.segments, part_bytes_, config_.folder));
  SLUICE_RETURN_IF_ERROR(map_memory());
  parts_.emplace(as_index(files_->bytes() / part_bytes_));
  kept_ = unarmed_ = LastTouched(parts_->size());
  compute_capacity();
  SLUICE_RETURN_IF_ERROR(faults_.watch(pages_.data(), files_->bytes()));
  if (!add_fault_answerer(*this))
    return Error{ErrorCode::kUnsupported, "this process cannot see stores to memory from a disk"};
  answering_ = std::thread([this] { answer_touches(); });
  return {};
}

// Slots as many as there are parts: addresses cost nothing, and a larger budget finds its place there.
Status PagedMemory::map_memory() {
  const Bytes bytes = files_->bytes();
  const auto unmap = [](std::byte* data, Bytes mapped) { ::munmap(data, as_index(mapped)); };
  for (Arena* const arena : {&pages_, &slots_}) {
    std::byte* const begin = map_aligned(bytes, PROT_READ | PROT_WRITE, MAP_NORESERVE);
    if (begin == nullptr) return Error{ErrorCode::kOutOfSpace, "no addresses are left for memory from a disk", bytes};
    *arena = Arena::adopt(begin, bytes, unmap);
  }
  ::madvise(slots_.data(), as_index(bytes), MADV_HUGEPAGE);
  ::madvise(slots_.data(), as_index(bytes), MADV_DONTFORK);  // pages that a child shares could not be moved
  for (auto slot = static_cast<int>(bytes / part_bytes_); slot-- > 0;) free_slots_.push_back(slot);
  return {};
}

void PagedMemory::compute_capacity() {
  most_here_ = as_index(std::max<Bytes>(4, config_.resident / part_bytes_));
  kept_.set_most(std::clamp<std::size_t>(most_here_ / 4, 2, 16));
  unarmed_.set_most(std::min<std::size_t>(most_here_ / 2, 64));
  parts_ahead_ = std::clamp<std::size_t>(most_here_ / 4, 2, kPartsAhead);
  parts_->set_horizon(4 * most_here_ + 64);
}

PagedMemory::~PagedMemory() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  remove_fault_answerer(*this);
  faults_.stop();
  if (answering_.joinable()) answering_.join();
  if (files_ != nullptr) files_->close();
}

// -- touches

// A store to what is for reading only, in the signal handler of who stores. Its part comes by being read first.
bool PagedMemory::answer_fault(const MemoryAccess& access) {
  auto* const address = reinterpret_cast<std::byte*>(access.address);
  if (!access.write || address < pages_.data() || address >= pages_.data() + pages_.bytes()) return false;
  const auto id = static_cast<PartId>((address - pages_.data()) / part_bytes_);
  or_end([&] {
    do {
      (void)*static_cast<const volatile std::byte*>(address);
    } while (!make_dirty(id));
  });
  return true;
}

// False where it has gone since it was touched.
bool PagedMemory::make_dirty(PartId id) {
  const Lock lock(mutex_);
  Part& part = (*parts_)[id];
  if (part.place != Part::Place::kShown) return false;
  part.dirty = true;
  touched(id);
  SLUICE_CHECK(::mprotect(begin_of(id), as_index(part_bytes_), PROT_READ | PROT_WRITE) == 0,
               "memory can be opened for stores");
  return true;
}

void PagedMemory::answer_touches() {
  allow_every_cpu();
  wake_promptly();
  while (const auto address = faults_.next()) {
    or_end([&] { answer_touch(static_cast<PartId>((*address - pages_.data()) / part_bytes_)); });
  }
}

void PagedMemory::answer_touch(PartId id) {
  const Lock lock(mutex_);
  Part& part = (*parts_)[id];
  if (part.place == Part::Place::kShown) {
    faults_.wake(begin_of(id), part_bytes_);  // another touch was before this one
    return;
  }
  if (!part.wanted) {
    use(id);
    if (part.place == Part::Place::kAside && !part.writing) {
      show(id);
    } else {
      ++counts_.waits;
      part.wanted = true;
      if (part.place == Part::Place::kAbsent) wanted_.push_back(id);
    }
  }
  pump();
}

void PagedMemory::use(PartId id) {
  const std::int64_t unforeseen = parts_->history().unforeseen();
  parts_->use(id);
  ++counts_.uses;
  const bool foreseen = unforeseen == parts_->history().unforeseen();
  ahead_ = foreseen && ahead_ > 0 ? ahead_ - 1 : 0;
  touched(id);
}

void PagedMemory::touched(PartId id) {
  kept_.touch(id);
  unarmed_.touch(id);
  leave_alone();
}

// What was touched long enough ago is written, unless it is used again before it would have to leave; longer ago, its next use
// is waited for.
void PagedMemory::leave_alone() {
  while (const auto old = kept_.take_surplus()) {
    const bool stays = parts_->next_use(*old) < most_here_;
    if ((*parts_)[*old].dirty && !stays) begin_writing(*old);
  }
  while (const auto older = unarmed_.take_surplus()) {
    if ((*parts_)[*older].place == Part::Place::kShown) set_aside(*older);
  }
}

void PagedMemory::show(PartId id) {
  (*parts_)[id].place = Part::Place::kShown;
  (*parts_)[id].wanted = false;
  faults_.show(begin_of(id), slot_of(id), part_bytes_);
  faults_.wake(begin_of(id), part_bytes_);
}

void PagedMemory::set_aside(PartId id) {
  (*parts_)[id].place = Part::Place::kAside;
  faults_.take_back(begin_of(id), slot_of(id), part_bytes_);
}

// -- transfers

// First what is waited for, then what is used next, then the neighbours of what was used last.
void PagedMemory::pump() {
  if (stopping_) return;
  if (here_ > most_here_) (void)make_room(0, kept_);
  while (!wanted_.empty()) {
    if (!begin_reading(wanted_.front(), 0)) return;
    wanted_.pop_front();
  }
  for (; ahead_ < parts_ahead_; ++ahead_) {
    const std::optional<PartId> next = parts_->history().next(ahead_);
    if (!next) break;
    if ((*parts_)[*next].place == Part::Place::kAbsent && !begin_reading(*next, ahead_)) return;
  }
  const std::optional<PartId> newest = kept_.newest();
  for (PartId each = 1; newest && ahead_ == 0 && each <= kNeighbours; ++each) {
    const PartId id = *newest + each;
    if (as_index(id) >= parts_->size() || !files_->in_one_segment(id, *newest)) return;
    if ((*parts_)[id].place == Part::Place::kAbsent && !begin_reading(id, as_index(kNeighbours))) return;
  }
}

bool PagedMemory::begin_reading(PartId id, std::size_t ahead) {
  Part& part = (*parts_)[id];
  if (part.place != Part::Place::kAbsent) return true;
  if (!make_room(ahead, part.wanted ? kept_ : unarmed_)) {
    // With nothing under way nobody would come back here: it goes on beyond the budget.
    if (!part.wanted || under_way_ > 0) return false;
  }
  part.place = Part::Place::kReading;
  part.slot = free_slots_.back();
  free_slots_.pop_back();
  ++here_;
  const auto then = [this, id](const Status& status) { or_end([&] { when_read(id, status); }); };
  if (files_->read(id, part.changed, slot_of(id), then)) {
    ++under_way_;
  } else {
    arrive(id, files_->fill_rest(id, part.changed, slot_of(id)));
  }
  return true;
}

// For one part more. Dirty ones that would go first begin to be written. What is read ahead takes no place of those whose
// next touches are not seen: they may be in use.
bool PagedMemory::make_room(std::size_t ahead, const LastTouched& kept) {
  while (here_ >= most_here_) {
    const std::optional<PartId> clean = parts_->leaves_first(ahead, /*dirty=*/false, kept);
    if (!clean) {
      write_those_that_leave(ahead, kept);
      return false;
    }
    drop(*clean);
    ahead_ = std::min(ahead_, parts_->next_use(*clean));
  }
  return true;
}

// As many as are to go, and one more.
void PagedMemory::write_those_that_leave(std::size_t ahead, const LastTouched& kept) {
  while (writing_ <= here_ - most_here_) {
    const std::optional<PartId> dirty = parts_->leaves_first(ahead, /*dirty=*/true, kept);
    if (!dirty) return;
    begin_writing(*dirty);
  }
}

// Its slot is the next one that is read into: its pages need not be cleared again.
void PagedMemory::drop(PartId id) {
  Part& part = (*parts_)[id];
  if (part.place == Part::Place::kShown) set_aside(id);
  if (here_ > most_here_) ::madvise(slot_of(id), as_index(part_bytes_), MADV_DONTNEED);
  part.place = Part::Place::kAbsent;
  free_slots_.push_back(std::exchange(part.slot, -1));
  --here_;
}

void PagedMemory::begin_writing(PartId id) {
  Part& part = (*parts_)[id];
  if (!part.may_leave() || stopping_) return;
  if (!files_->can_write(id)) {
    part.stays = true;
    return;
  }
  if (part.place == Part::Place::kShown) set_aside(id);
  part.writing = true;
  ++writing_;
  ++under_way_;
  files_->write(id, slot_of(id), [this, id](const Status& status) { or_end([&] { when_written(id, status); }); });
}

void PagedMemory::when_read(PartId id, const Status& status) {
  const Part& part = (*parts_)[id];  // nobody else touches it, nor its slot
  const Status filled = status.ok() ? files_->fill_rest(id, part.changed, slot_of(id)) : status;
  const Lock lock(mutex_);
  --under_way_;
  if (status.ok()) counts_.read += part_bytes_;
  arrive(id, filled);
  pump();
}

void PagedMemory::arrive(PartId id, const Status& status) {
  Part& part = (*parts_)[id];
  if (!status.ok() && part.wanted) end_process(status.error().message);
  part.place = Part::Place::kAside;
  parts_->came(id);
  if (!status.ok()) {
    drop(id);
  } else if (part.wanted) {
    show(id);
  }
}

void PagedMemory::when_written(PartId id, const Status& status) {
  const Lock lock(mutex_);
  Part& part = (*parts_)[id];
  part.writing = false;
  --writing_;
  --under_way_;
  if (status.ok()) {
    part.dirty = false;
    part.changed = true;
    counts_.written += part_bytes_;
  } else {
    part.stays = true;
    if (problem_.ok()) problem_ = status;
  }
  if (part.wanted) show(id);
  pump();
}

// -- what the owner asks

void PagedMemory::set_resident(Bytes bytes) {
  const Lock lock(mutex_);
  const std::size_t before = most_here_;
  config_.resident = std::max(bytes, least_resident());
  compute_capacity();
  if (most_here_ >= before) {
    pump();
    return;
  }
  leave_alone();
  (void)make_room(0, kept_);
  for (const int slot : free_slots_)
    ::madvise(slots_.data() + slot * part_bytes_, as_index(part_bytes_), MADV_DONTNEED);
}

PagedMemory::Counts PagedMemory::counts() const {
  const Lock lock(mutex_);
  Counts counts = counts_;
  counts.resident = static_cast<Bytes>(here_) * part_bytes_;
  return counts;
}

Status PagedMemory::take_problem() {
  const Lock lock(mutex_);
  return std::exchange(problem_, Status());
}

}  // namespace sluice::memory
