#include "sluice/offload/saved_store.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "sluice/exec/transfer/copy_engine.hpp"
#include "sluice/exec/transfer/uring_engine.hpp"

namespace sluice {
namespace {

constexpr Bytes kChunk = 4 * kMiB;  // one request of the ring
constexpr std::size_t kChunks = 8;  // of staging memory
constexpr Bytes kStaging = kChunk * static_cast<Bytes>(kChunks);

// io_uring; where it is not allowed, the lane waits for each piece of file I/O instead.
Result<std::unique_ptr<TransferEngine>> engine_of(UringEngine::Config config, const SpillFile& file,
                                                  std::vector<std::string>& notes) {
  config.descriptor = file.descriptor();
  config.tier = "file";
  auto ring = UringEngine::create(config);
  if (ring.ok()) return std::unique_ptr<TransferEngine>(std::move(ring).value());
  if (ring.error().code != ErrorCode::kUnsupported) return ring.error();
  notes.push_back(ring.error().message + "; reads and writes block their lane instead");
  const bool to_file = config.direction == UringEngine::Direction::kToFile;
  auto move = [&file, to_file, arena = config.arena](Bytes from, Bytes to, Bytes bytes) {
    const auto size = static_cast<std::size_t>(bytes);
    return to_file ? file.write(to, {arena + from, size}) : file.read(from, {reinterpret_cast<std::byte*>(to), size});
  };
  return std::unique_ptr<TransferEngine>(std::make_unique<CopyEngine>(std::move(move), std::vector<std::string>()));
}

}  // namespace

Result<std::unique_ptr<SavedStore>> SavedStore::open(const Config& config) {
  if (config.file_bytes <= 0) return bad_input(fmt::format("a file of {} bytes keeps nothing", config.file_bytes));
  SLUICE_ASSIGN(SpillFile file, SpillFile::open(config.path, config.file_bytes));
  SLUICE_ASSIGN(Arena staging, Arena::map(kStaging, "staging"));
  std::unique_ptr<SavedStore> store(new SavedStore(std::move(staging), std::move(file)));
  SLUICE_RETURN_IF_ERROR(store->start());
  return store;
}

SavedStore::SavedStore(Arena staging, SpillFile file)
    : staging_(std::move(staging)), file_(std::move(file)), room_(file_.bytes()) {
  for (std::size_t slot = 0; slot < kChunks; ++slot) free_slots_.push_back(slot);
}

Status SavedStore::start() {
  notes_ = file_.notes();
  UringEngine::Config out, in;
  out.direction = UringEngine::Direction::kToFile;
  out.arena = staging_.data();
  out.arena_bytes = staging_.bytes();
  in.direction = UringEngine::Direction::kFromFile;  // to addresses, anywhere
  in.arena_bytes = std::numeric_limits<Bytes>::max();
  in.registers = false;
  SLUICE_ASSIGN(writer_, engine_of(out, file_, notes_));
  SLUICE_ASSIGN(reader_, engine_of(in, file_, notes_));
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

Bytes SavedStore::staging_bytes() { return kStaging; }

std::optional<SavedStore::Id> SavedStore::leave(const std::byte* from, Bytes bytes) {
  SLUICE_CHECK(bytes > 0, "something leaves");
  const std::scoped_lock lock(mutex_);
  const Bytes whole = whole_pages(bytes);
  const std::optional<Bytes> begin = room_.take(whole);
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

void SavedStore::bring(Id id, std::byte* into) {
  const std::scoped_lock lock(mutex_);
  Entry& entry = entries_.at(id);
  SLUICE_CHECK(entry.into == nullptr, "bytes come back once");
  SLUICE_CHECK(reinterpret_cast<std::uintptr_t>(into) % kTensorAlignment == 0, "into whole pages");
  entry.into = into;
  if (written(entry)) ask(id);
}

void SavedStore::ask(Id id) {
  coming_.push_back(id);
  reader_->wake();
}

bool SavedStore::here(Id id) const {
  const std::scoped_lock lock(mutex_);
  return entries_.at(id).here;
}

Status SavedStore::wait_here(Id id) {
  std::unique_lock lock(mutex_);
  const Entry& entry = entries_.at(id);
  SLUICE_CHECK(entry.into != nullptr, "nobody has asked for these bytes");
  changed_.wait(lock, [&] { return entry.here || !entry.status.ok(); });
  return entry.status;
}

void SavedStore::forget(Id id) {
  std::unique_lock lock(mutex_);
  Entry& entry = entries_.at(id);
  entry.into = nullptr;  // nobody asks for it any more
  std::erase(leaving_, id);
  std::erase(coming_, id);
  changed_.wait(lock, [&] { return !entry.copying && !entry.reading; });
  entry.forgotten = true;  // not before: then it may be gone at any moment
  drop_if_idle(id);
}

// A range is free again when nothing is on its way to it: else a late write would end in another one's bytes.
void SavedStore::drop_if_idle(Id id) {
  const Entry& entry = entries_.at(id);
  if (!entry.forgotten || entry.chunks > 0) return;
  room_.give(entry.file);
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
  const Bytes whole = whole_pages(bytes);
  entry.copying = true;
  ++entry.chunks;
  lock.unlock();
  std::byte* const staged = staging_.data() + static_cast<Bytes>(slot) * kChunk;
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
  } else if (written(entry) && entry.into != nullptr && entry.status.ok()) {
    ask(id);
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
    Entry& entry = entries_.at(id);
    entry.reading = true;
    reads_[next_read_] = id;
    reader_->submit(next_read_++, entry.file.begin, reinterpret_cast<Bytes>(entry.into), entry.file.length());
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
}

}  // namespace sluice
