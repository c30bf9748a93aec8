#include "sluice/memory/paging/paged_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"
#include "sluice/base/threads/cpu_affinity.hpp"
#include "sluice/base/threads/wake_promptly.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/memory/transfer/file_engine.hpp"

namespace sluice::memory {
namespace {

constexpr Bytes kPage = kBlockAlignment;
constexpr Bytes kLargestPart = 2 * kMiB;
constexpr Bytes kPartsAtLeast = 32;      // in what is resident, where parts can be smaller
constexpr int kNeighbours = 4;           // are read where the history says nothing
constexpr std::size_t kPartsAhead = 32;  // enough to keep a disk busy; more would take the place of what is used again

Bytes address_of(const std::byte* memory) { return reinterpret_cast<Bytes>(memory); }

std::unique_ptr<TransferQueue> queue_of(std::unique_ptr<TransferEngine> engine, const char* name) {
  return std::make_unique<TransferQueue>(std::move(engine),
                                         TransferQueue::Config{.thread = {{.name = name, .prompt = true}}});
}

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
  SLUICE_RETURN_IF_ERROR(place_segments());
  SLUICE_RETURN_IF_ERROR(open_slots());
  parts_.emplace(as_index(bytes_ / part_bytes_));
  kept_ = unarmed_ = LastTouched(parts_->size());
  compute_capacity();
  if (spill_bytes_ > 0) SLUICE_RETURN_IF_ERROR(open_spill());
  for (const auto& source : sources_) {
    SLUICE_ASSIGN(auto engine, source->engine());
    source_in_.push_back(queue_of(std::move(engine), "source>memory"));
  }
  SLUICE_RETURN_IF_ERROR(faults_.watch(pages_.data(), bytes_));
  if (!add_fault_answerer(*this))
    return Error{ErrorCode::kUnsupported, "this process cannot see stores to memory from a disk"};
  answering_ = std::thread([this] { answer_touches(); });
  return {};
}

// As many as there are parts: addresses cost nothing, and a larger budget finds its place there.
Status PagedMemory::open_slots() {
  std::byte* const begin = map_aligned(bytes_, PROT_READ | PROT_WRITE, MAP_NORESERVE);
  if (begin == nullptr) return Error{ErrorCode::kOutOfSpace, "no addresses are left for memory from a disk", bytes_};
  slots_ = Arena::adopt(begin, bytes_, [](std::byte* data, Bytes bytes) { ::munmap(data, as_index(bytes)); });
  ::madvise(begin, as_index(bytes_), MADV_HUGEPAGE);
  ::madvise(begin, as_index(bytes_), MADV_DONTFORK);  // pages that a child shares could not be moved
  for (auto slot = static_cast<int>(bytes_ / part_bytes_); slot-- > 0;) free_slots_.push_back(slot);
  return {};
}

// Each segment begins with a part. What precedes its first byte in its first block of the file is there, too.
Status PagedMemory::place_segments() {
  for (const Segment& each : config_.segments) {
    Placed placed;
    placed.first_part = static_cast<PartId>(bytes_ / part_bytes_);
    placed.file_offset = align_down(each.offset, kPage);
    if (!each.file.empty()) {
      SLUICE_ASSIGN(placed.source, source_of(each.file));
      const Bytes held = sources_[as_index(placed.source)]->bytes();
      if (each.offset + each.bytes > held) {
        return bad_input(fmt::format("'{}' has {}, and {} at offset {} are wanted of it: it is cut off", each.file,
                                     format_bytes(held), format_bytes(each.bytes), each.offset));
      }
    }
    placed.parts = static_cast<PartId>((each.offset - placed.file_offset + each.bytes + part_bytes_ - 1) / part_bytes_);
    if (each.changes) placed.spill_offset = std::exchange(spill_bytes_, spill_bytes_ + placed.parts * part_bytes_);
    segments_.push_back(placed);
    bytes_ += placed.parts * part_bytes_;
  }
  std::byte* const begin = map_aligned(bytes_, PROT_READ | PROT_WRITE, MAP_NORESERVE);
  if (begin == nullptr) return Error{ErrorCode::kOutOfSpace, "no addresses are left for memory from a disk", bytes_};
  pages_ = Arena::adopt(begin, bytes_, [](std::byte* data, Bytes bytes) { ::munmap(data, as_index(bytes)); });
  for (std::size_t each = 0; each < segments_.size(); ++each) {
    const Bytes before = config_.segments[each].offset - segments_[each].file_offset;
    segments_[each].begin = begin + segments_[each].first_part * part_bytes_ + before;
  }
  return {};
}

Result<int> PagedMemory::source_of(const std::string& file) {
  const auto known = std::ranges::find(sources_, file, [](const auto& each) { return each->path(); });
  if (known != sources_.end()) return static_cast<int>(known - sources_.begin());
  SLUICE_ASSIGN(auto opened, SourceFile::open(file));
  sources_.push_back(std::move(opened));
  return static_cast<int>(sources_.size()) - 1;
}

void PagedMemory::compute_capacity() {
  most_here_ = as_index(std::max<Bytes>(4, config_.resident / part_bytes_));
  kept_.set_most(std::clamp<std::size_t>(most_here_ / 4, 2, 16));
  unarmed_.set_most(std::min<std::size_t>(most_here_ / 2, 64));
  parts_ahead_ = std::clamp<std::size_t>(most_here_ / 4, 2, kPartsAhead);
  parts_->set_horizon(4 * most_here_ + 64);
}

Status PagedMemory::open_spill() {
  SLUICE_ASSIGN(SpillFile file, SpillFile::open(config_.folder, spill_bytes_));
  spill_.emplace(std::move(file));
  for (const auto direction : {UringEngine::Direction::kFromFile, UringEngine::Direction::kToFile}) {
    UringEngine::Config config;
    config.direction = direction;
    config.arena_bytes = std::numeric_limits<Bytes>::max();  // addresses, anywhere
    config.registers = false;
    config.tier = "file";
    SLUICE_ASSIGN(auto engine, make_file_engine(*spill_, std::move(config)));
    const bool reads = direction == UringEngine::Direction::kFromFile;
    (reads ? spill_in_ : spill_out_) = queue_of(std::move(engine), reads ? "file>memory" : "memory>file");
  }
  return {};
}

PagedMemory::~PagedMemory() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  remove_fault_answerer(*this);
  faults_.stop();
  if (answering_.joinable()) answering_.join();
  source_in_.clear();
  spill_in_.reset();
  spill_out_.reset();
}

// -- where things are

const PagedMemory::Placed& PagedMemory::segment_of(PartId id) const {
  const auto after = std::ranges::upper_bound(segments_, id, {}, &Placed::first_part);
  return *(after - 1);
}

std::byte* PagedMemory::begin_of(PartId id) const { return pages_.data() + id * part_bytes_; }
std::byte* PagedMemory::slot_of(PartId id) { return slots_.data() + (*parts_)[id].slot * part_bytes_; }

Bytes PagedMemory::source_offset(PartId id) const {
  const Placed& segment = segment_of(id);
  return segment.file_offset + (id - segment.first_part) * part_bytes_;
}

Bytes PagedMemory::spill_offset(PartId id) const {
  const Placed& segment = segment_of(id);
  return segment.spill_offset + (id - segment.first_part) * part_bytes_;
}

// A file may end within a block, whose bytes are then read through the page cache (fill_rest()).
Bytes PagedMemory::bytes_in_blocks(PartId id) {
  const Placed& segment = segment_of(id);
  if ((*parts_)[id].changed) return part_bytes_;
  if (segment.source < 0) return 0;
  return std::min(part_bytes_, align_down(sources_[as_index(segment.source)]->bytes() - source_offset(id), kPage));
}

// -- touches

// A store to what is for reading only, in the signal handler of who stores. Its part comes by being read first.
bool PagedMemory::answer_fault(const MemoryAccess& access) {
  auto* const address = reinterpret_cast<std::byte*>(access.address);
  if (!access.write || address < pages_.data() || address >= pages_.data() + bytes_) return false;
  const auto id = static_cast<PartId>((address - pages_.data()) / part_bytes_);
  for (;;) {
    (void)*static_cast<const volatile std::byte*>(address);
    const Lock lock(mutex_);
    Part& part = (*parts_)[id];
    if (part.place != Part::Place::kShown) continue;
    part.dirty = true;
    touched(id);
    SLUICE_CHECK(part.place == Part::Place::kShown, "what was just touched stays");
    ::mprotect(begin_of(id), as_index(part_bytes_), PROT_READ | PROT_WRITE);
    return true;
  }
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

// What was touched long enough ago is written; longer ago, its next use is waited for.
void PagedMemory::leave_alone() {
  while (const auto old = kept_.take_surplus()) {
    if ((*parts_)[*old].dirty) begin_writing(*old);
  }
  while (const auto older = unarmed_.take_surplus()) {
    const Part& part = (*parts_)[*older];
    if (part.place == Part::Place::kShown && !part.dirty) set_aside(*older);
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
    if (as_index(id) >= parts_->size() || &segment_of(id) != &segment_of(*newest)) return;
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
  const Bytes bytes = bytes_in_blocks(id);
  if (bytes == 0) {
    arrive(id, fill_rest(id));
    return true;
  }
  ++under_way_;
  const Bytes to = address_of(slot_of(id));
  const auto then = [this, id](const Status& status) { or_end([&] { when_read(id, status); }); };
  if (part.changed) {
    (void)spill_in_->put({spill_offset(id), to, bytes}, then);
  } else {
    (void)source_in_[as_index(segment_of(id).source)]->put({source_offset(id), to, bytes}, then);
  }
  return true;
}

// For one part more. Dirty ones that would go first begin to be written. What is read ahead takes no place of those whose
// next touches are not seen: they may be in use.
bool PagedMemory::make_room(std::size_t ahead, const LastTouched& kept) {
  while (here_ >= most_here_) {
    const std::optional<PartId> clean = parts_->leaves_first(ahead, /*dirty=*/false, kept);
    if (!clean) {
      const std::optional<PartId> dirty = parts_->leaves_first(ahead, /*dirty=*/true, kept);
      if (dirty) begin_writing(*dirty);
      return false;
    }
    drop(*clean);
    ahead_ = std::min(ahead_, parts_->next_use(*clean));
  }
  return true;
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
  if (segment_of(id).spill_offset < 0) {
    part.stays = true;
    return;
  }
  set_aside(id);
  part.writing = true;
  ++under_way_;
  (void)spill_out_->put({address_of(slot_of(id)), spill_offset(id), part_bytes_},
                        [this, id](const Status& status) { or_end([&] { when_written(id, status); }); });
}

void PagedMemory::when_read(PartId id, const Status& status) {
  const Status filled = status.ok() ? fill_rest(id) : status;  // nobody else touches its slot
  const Lock lock(mutex_);
  --under_way_;
  if (status.ok()) counts_.read += part_bytes_;
  arrive(id, filled);
  pump();
}

// What is behind the file's last block.
Status PagedMemory::fill_rest(PartId id) {
  std::byte* const slot = slot_of(id);
  const Bytes filled = bytes_in_blocks(id);
  std::fill(slot + filled, slot + part_bytes_, std::byte{0});
  if ((*parts_)[id].changed || segment_of(id).source < 0) return {};
  const SourceFile& source = *sources_[as_index(segment_of(id).source)];
  const Bytes rest = std::min(part_bytes_, source.bytes() - source_offset(id)) - filled;
  return rest > 0 ? source.read(source_offset(id) + filled, slot + filled, rest) : Status();
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

Status PagedMemory::check_unchanged() const {
  for (const auto& source : sources_) SLUICE_RETURN_IF_ERROR(source->check_unchanged());
  return {};
}

}  // namespace sluice::memory
