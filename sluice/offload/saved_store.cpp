#include "sluice/offload/saved_store.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <limits>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"
#include "sluice/memory/transfer/copy_engine.hpp"
#include "sluice/memory/transfer/uring_engine.hpp"

namespace sluice::offload {
namespace {

// With an engine at a time: enough to keep the disk busy, and little to wait for where bytes are forgotten.
constexpr Bytes kMovingBytes = 64 * kMiB;

enum LaneIndex : std::size_t { kOut, kIn };

// io_uring; where it is not allowed, the lane waits for each piece of file I/O instead.
Result<std::unique_ptr<memory::TransferEngine>> engine_of(LaneIndex lane, const memory::SpillFile& file,
                                                          std::vector<std::string>& notes) {
  const bool out = lane == kOut;
  memory::UringEngine::Config config;
  config.direction = out ? memory::UringEngine::Direction::kToFile : memory::UringEngine::Direction::kFromFile;
  config.arena_bytes = std::numeric_limits<Bytes>::max();  // addresses, anywhere
  config.registers = false;
  config.descriptor = file.descriptor();
  config.block = file.block();
  config.tier = "file";
  auto ring = memory::UringEngine::create(config);
  if (ring.ok()) return std::unique_ptr<memory::TransferEngine>(std::move(ring).value());
  if (ring.error().code != ErrorCode::kUnsupported) return ring.error();
  notes.push_back(ring.error().message + "; reads and writes block their lane instead");
  auto move = [&file, out](Bytes from, Bytes to, Bytes bytes) {
    const auto size = as_index(bytes);
    return out ? file.write(to, {reinterpret_cast<std::byte*>(from), size})
               : file.read(from, {reinterpret_cast<std::byte*>(to), size});
  };
  return std::unique_ptr<memory::TransferEngine>(
      std::make_unique<memory::CopyEngine>(std::move(move), std::vector<std::string>()));
}

}  // namespace

Result<std::unique_ptr<SavedStore>> SavedStore::open(const Config& config) {
  if (config.file_bytes <= 0) return bad_input(fmt::format("a file of {} bytes keeps nothing", config.file_bytes));
  SLUICE_ASSIGN(memory::SpillFile file, memory::SpillFile::open(config.path, config.file_bytes));
  std::unique_ptr<SavedStore> store(new SavedStore(std::move(file)));
  SLUICE_RETURN_IF_ERROR(store->start());
  return store;
}

SavedStore::SavedStore(memory::SpillFile file) : file_(std::move(file)), room_(file_.bytes()) {}

Status SavedStore::start() {
  notes_ = file_.notes();
  for (const LaneIndex index : {kOut, kIn}) {
    Lane& lane = lanes_[index];
    SLUICE_ASSIGN(lane.engine, engine_of(index, file_, notes_));
    for (const std::string& note : lane.engine->notes()) notes_.push_back(note);
  }
  for (Lane& lane : lanes_) lane.thread = std::thread([this, &lane] { run(lane); });
  return {};
}

SavedStore::~SavedStore() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    for (Lane& lane : lanes_) lane.queue.clear();
  }
  for (Lane& lane : lanes_) {
    if (!lane.thread.joinable()) continue;
    lane.engine->wake();
    lane.thread.join();
  }
}

std::optional<SavedStore::Id> SavedStore::leave(std::byte* from, Bytes bytes) {
  SLUICE_CHECK(bytes > 0, "something leaves");
  SLUICE_CHECK(reinterpret_cast<std::uintptr_t>(from) % memory::kBlockAlignment == 0, "from whole pages");
  const std::scoped_lock lock(mutex_);
  const Bytes whole = whole_pages(bytes);
  const std::optional<Bytes> begin = room_.take(whole);
  if (!begin) return std::nullopt;
  Entry entry;
  entry.memory = from;
  entry.file = {*begin, *begin + whole};
  entries_.emplace(next_id_, std::move(entry));
  queue(lanes_[kOut], next_id_);
  return next_id_++;
}

bool SavedStore::left(Id id) const {
  const std::scoped_lock lock(mutex_);
  return entries_.at(id).place != Place::kLeaving;
}

Status SavedStore::wait_left(Id id) { return wait_until(id, Place::kAway); }

void SavedStore::bring(Id id, std::byte* into) {
  const std::scoped_lock lock(mutex_);
  Entry& entry = entries_.at(id);
  SLUICE_CHECK(entry.place == Place::kAway, "bytes come back once, and after they have left");
  SLUICE_CHECK(reinterpret_cast<std::uintptr_t>(into) % memory::kBlockAlignment == 0, "into whole pages");
  entry.memory = into;
  entry.place = Place::kComing;
  queue(lanes_[kIn], id);
}

bool SavedStore::here(Id id) const {
  const std::scoped_lock lock(mutex_);
  return entries_.at(id).place == Place::kHere;
}

Status SavedStore::wait_here(Id id) { return wait_until(id, Place::kHere); }

Status SavedStore::wait_until(Id id, Place place) {
  std::unique_lock lock(mutex_);
  const Entry& entry = entries_.at(id);
  changed_.wait(lock, [&] { return entry.place >= place || !entry.status.ok(); });
  return entry.status;
}

void SavedStore::forget(Id id) {
  std::unique_lock lock(mutex_);
  for (Lane& lane : lanes_) std::erase(lane.queue, id);
  const Entry& entry = entries_.at(id);
  changed_.wait(lock, [&] { return !entry.moving; });
  room_.give(entry.file);
  entries_.erase(id);
}

void SavedStore::queue(Lane& lane, Id id) {
  lane.queue.push_back(id);
  lane.engine->wake();
}

void SavedStore::run(Lane& lane) {
  (void)pthread_setname_np(pthread_self(), &lane == &lanes_[kOut] ? "memory>file" : "file>memory");
  std::vector<memory::FinishedTransfer> finished;
  std::unique_lock lock(mutex_);
  while (!stopping_ || lane.engine->in_flight() > 0) {
    submit(lane);
    lock.unlock();
    finished.clear();
    lane.engine->wait(std::nullopt, finished);
    lock.lock();
    for (const memory::FinishedTransfer& each : finished) finish(lane, each);
    changed_.notify_all();
  }
}

void SavedStore::submit(Lane& lane) {
  while (!lane.queue.empty() && lane.moving_bytes < kMovingBytes) {
    const Id id = lane.queue.front();
    lane.queue.pop_front();
    Entry& entry = entries_.at(id);
    entry.moving = true;
    lane.moving[lane.next] = id;
    lane.moving_bytes += entry.file.length();
    const auto memory = reinterpret_cast<Bytes>(entry.memory);
    const bool out = &lane == &lanes_[kOut];
    lane.engine->submit(lane.next++, out ? memory : entry.file.begin, out ? entry.file.begin : memory,
                        entry.file.length());
  }
}

void SavedStore::finish(Lane& lane, const memory::FinishedTransfer& finished) {
  const auto moving = lane.moving.find(finished.transfer);
  Entry& entry = entries_.at(moving->second);
  lane.moving.erase(moving);
  lane.moving_bytes -= entry.file.length();
  entry.moving = false;
  entry.status = finished.status;
  if (!entry.status.ok()) return;
  entry.place = entry.place == Place::kLeaving ? Place::kAway : Place::kHere;
}

}  // namespace sluice::offload
