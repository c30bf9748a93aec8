#include "sluice/offload/saved_store.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cstring>

#include "sluice/exec/transfer/engine_factory.hpp"

namespace sluice {
namespace {

constexpr Bytes kChunk = 4 * kMiB;  // one request of the ring
constexpr std::size_t kChunks = 8;  // of staging memory
constexpr Bytes kStaging = kChunk * static_cast<Bytes>(kChunks);
constexpr LinkId kToFile = 0, kFromFile = 1;

Machine machine_of(const SavedStore::Config& config) {
  Machine machine;
  Tier memory;
  memory.name = "memory";
  memory.capacity = kStaging + align_up(config.arena_bytes, kTensorAlignment);
  Tier file;
  file.name = "file";
  file.kind = TierKind::kFile;
  file.path = config.path;
  file.capacity = align_up(config.file_bytes, kTensorAlignment);
  machine.tiers = {memory, file};
  machine.links.resize(2);
  machine.links[kToFile].from = machine.links[kFromFile].to = 0;
  machine.links[kToFile].to = machine.links[kFromFile].from = 1;
  return machine;
}

}  // namespace

Result<std::unique_ptr<SavedStore>> SavedStore::open(const Config& config) {
  if (config.file_bytes <= 0 || config.arena_bytes <= 0) {
    return bad_input(fmt::format("a store of {} with {} of memory: both have to be above 0",
                                 format_bytes(config.file_bytes), format_bytes(config.arena_bytes)));
  }
  Machine machine = machine_of(config);
  const std::vector<Bytes> sizes{machine.tiers[0].capacity, machine.tiers[1].capacity};
  SLUICE_ASSIGN(TierStorages storages, TierStorages::open(machine, sizes));
  std::unique_ptr<SavedStore> store(new SavedStore(std::move(machine), std::move(storages)));
  SLUICE_RETURN_IF_ERROR(store->start());
  return store;
}

SavedStore::SavedStore(Machine machine, TierStorages storages)
    : machine_(std::move(machine)),
      storages_(std::move(storages)),
      file_(machine_.tiers[1].capacity),
      arena_(machine_.tiers[0].capacity - kStaging) {
  for (std::size_t slot = 0; slot < kChunks; ++slot) free_slots_.push_back(slot);
}

Status SavedStore::start() {
  SLUICE_ASSIGN(writer_, make_engine(machine_, kToFile, storages_));
  SLUICE_ASSIGN(reader_, make_engine(machine_, kFromFile, storages_));
  notes_ = storages_.notes();
  for (const TransferEngine* engine : {writer_.get(), reader_.get()}) {
    for (const std::string& note : engine->notes()) notes_.push_back(note);
  }
  write_thread_ = std::thread([this] { write_lane(); });
  read_thread_ = std::thread([this] { read_lane(); });
  return {};
}

SavedStore::~SavedStore() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    leaving_.clear();
    coming_.clear();
  }
  if (writer_) writer_->wake();
  if (reader_) reader_->wake();
  if (write_thread_.joinable()) write_thread_.join();
  if (read_thread_.joinable()) read_thread_.join();
}

Bytes SavedStore::staging_bytes() const { return kStaging; }

std::byte* SavedStore::arena_at(Bytes offset) const { return storages_.base(0) + kStaging + offset; }

std::optional<SavedStore::Id> SavedStore::leave(const std::byte* from, Bytes bytes) {
  SLUICE_CHECK(bytes > 0, "something leaves");
  const std::scoped_lock lock(mutex_);
  const Bytes whole = align_up(bytes, kTensorAlignment);
  const std::optional<Bytes> begin = file_.take(whole);
  if (!begin) return std::nullopt;
  Entry entry;
  entry.from = from;
  entry.bytes = bytes;
  entry.file = {*begin, *begin + whole};
  entries_.emplace(next_id_, std::move(entry));
  leaving_.push_back(next_id_);
  writer_->wake();
  return next_id_++;
}

bool SavedStore::left(Id id) const {
  const std::scoped_lock lock(mutex_);
  const Entry& entry = entries_.at(id);
  return entry.copied == entry.bytes || !entry.status.ok();
}

Status SavedStore::wait_left(Id id) {
  std::unique_lock lock(mutex_);
  const Entry& entry = entries_.at(id);
  changed_.wait(lock, [&] { return entry.copied == entry.bytes || !entry.status.ok(); });
  return entry.status;
}

bool SavedStore::bring(Id id) {
  const std::scoped_lock lock(mutex_);
  Entry& entry = entries_.at(id);
  if (entry.wanted) return true;
  const std::optional<Bytes> begin = arena_.take(entry.file.length());
  if (!begin) return false;
  entry.arena = {*begin, *begin + entry.file.length()};
  entry.wanted = true;
  if (written(entry)) want(entry, id);
  return true;
}

void SavedStore::want(Entry& entry, Id id) {
  entry.reading = true;
  coming_.push_back(id);
  reader_->wake();
}

bool SavedStore::here(Id id) const {
  const std::scoped_lock lock(mutex_);
  return entries_.at(id).here;
}

Result<std::byte*> SavedStore::take(Id id) {
  std::unique_lock lock(mutex_);
  const Entry& entry = entries_.at(id);
  SLUICE_CHECK(entry.wanted, "bytes are brought before they are taken");
  changed_.wait(lock, [&] { return entry.here || !entry.status.ok(); });
  if (!entry.status.ok()) return entry.status.error();
  return arena_at(entry.arena.begin);
}

Status SavedStore::read(Id id, std::span<std::byte> into) {
  std::unique_lock lock(mutex_);
  const Entry& entry = entries_.at(id);
  changed_.wait(lock, [&] { return written(entry) || !entry.status.ok(); });
  if (!entry.status.ok()) return entry.status;
  const Bytes begin = entry.file.begin;
  lock.unlock();
  return storages_.file(1)->read(begin, into);
}

void SavedStore::forget(Id id) {
  std::unique_lock lock(mutex_);
  Entry& entry = entries_.at(id);
  entry.forgotten = true;
  std::erase(leaving_, id);
  if (std::erase(coming_, id) > 0) entry.reading = false;
  changed_.wait(lock, [&] { return !entry.copying; });
  drop_if_idle(id);
}

// Ranges are free again when nothing is on its way to or from them: else a late write would end in another one's bytes.
void SavedStore::drop_if_idle(Id id) {
  const Entry& entry = entries_.at(id);
  if (!entry.forgotten || entry.copying || entry.chunks > 0 || entry.reading) return;
  arena_.give(entry.arena);
  file_.give(entry.file);
  entries_.erase(id);
}

void SavedStore::write_lane() {
  (void)pthread_setname_np(pthread_self(), "memory>file");
  std::vector<FinishedTransfer> finished;
  std::unique_lock lock(mutex_);
  while (!stopping_ || writer_->in_flight() > 0) {
    if (copy_next(lock)) continue;
    lock.unlock();
    finished.clear();
    writer_->wait(std::nullopt, finished);
    lock.lock();
    for (const FinishedTransfer& each : finished) chunk_written(each);
    changed_.notify_all();
  }
}

// One chunk into staging memory, and on its way. False where there is none to copy, or no room for it.
bool SavedStore::copy_next(std::unique_lock<std::mutex>& lock) {
  if (leaving_.empty() || free_slots_.empty()) return false;
  const Id id = leaving_.front();
  Entry& entry = entries_.at(id);
  const std::size_t slot = free_slots_.back();
  free_slots_.pop_back();
  const Bytes offset = entry.copied, bytes = std::min(kChunk, entry.bytes - offset);
  const Bytes whole = align_up(bytes, kTensorAlignment);
  entry.copying = true;
  ++entry.chunks;
  lock.unlock();
  std::byte* const staged = storages_.base(0) + static_cast<Bytes>(slot) * kChunk;
  std::memcpy(staged, entry.from + offset, static_cast<std::size_t>(bytes));
  std::memset(staged + bytes, 0, static_cast<std::size_t>(whole - bytes));
  const TransferIndex transfer = next_write_++;
  writer_->submit(transfer, static_cast<Bytes>(slot) * kChunk, entry.file.begin + offset, whole);
  lock.lock();
  chunks_[transfer] = {id, slot};
  entry.copying = false;
  entry.copied += bytes;
  if (entry.copied == entry.bytes && !leaving_.empty() && leaving_.front() == id) leaving_.pop_front();
  changed_.notify_all();
  return true;
}

void SavedStore::chunk_written(const FinishedTransfer& finished) {
  const auto chunk = chunks_.find(finished.transfer);
  const auto [id, slot] = chunk->second;
  chunks_.erase(chunk);
  free_slots_.push_back(slot);
  Entry& entry = entries_.at(id);
  --entry.chunks;
  if (!finished.status.ok() && entry.status.ok()) entry.status = finished.status;
  if (entry.forgotten) {
    drop_if_idle(id);
  } else if (written(entry) && entry.wanted && entry.status.ok()) {
    want(entry, id);
  }
}

void SavedStore::read_lane() {
  (void)pthread_setname_np(pthread_self(), "file>memory");
  std::vector<FinishedTransfer> finished;
  std::unique_lock lock(mutex_);
  while (!stopping_ || reader_->in_flight() > 0) {
    submit_reads();
    lock.unlock();
    finished.clear();
    reader_->wait(std::nullopt, finished);
    lock.lock();
    for (const FinishedTransfer& each : finished) read_finished(each);
    changed_.notify_all();
  }
}

void SavedStore::submit_reads() {
  while (!coming_.empty()) {
    const Id id = coming_.front();
    coming_.pop_front();
    const Entry& entry = entries_.at(id);
    reads_[next_read_] = id;
    reader_->submit(next_read_++, entry.file.begin, kStaging + entry.arena.begin, entry.file.length());
  }
}

void SavedStore::read_finished(const FinishedTransfer& finished) {
  const auto read = reads_.find(finished.transfer);
  const Id id = read->second;
  reads_.erase(read);
  Entry& entry = entries_.at(id);
  entry.reading = false;
  entry.here = finished.status.ok();
  if (!finished.status.ok() && entry.status.ok()) entry.status = finished.status;
  if (entry.forgotten) drop_if_idle(id);
}

}  // namespace sluice
