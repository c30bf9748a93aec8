#include "sluice/offload/saved_store.hpp"

#include <fmt/format.h>

#include <limits>

#include "sluice/base/check.hpp"
#include "sluice/memory/transfer/file_engine.hpp"

namespace sluice::offload {
namespace {

using Direction = memory::UringEngine::Direction;

Result<std::unique_ptr<memory::TransferQueue>> queue_of(const memory::SpillFile& file, Direction direction) {
  memory::UringEngine::Config config;
  config.direction = direction;
  config.arena_bytes = std::numeric_limits<Bytes>::max();  // addresses, anywhere
  config.registers = false;
  config.tier = "file";
  SLUICE_ASSIGN(auto engine, memory::make_file_engine(file, std::move(config)));
  const char* const name = direction == Direction::kToFile ? "memory>file" : "file>memory";
  return std::make_unique<memory::TransferQueue>(
      std::move(engine), memory::TransferQueue::Config{.thread = {{.name = name, .prompt = true}}});
}

Bytes address_of(const std::byte* memory) {
  SLUICE_CHECK(reinterpret_cast<std::uintptr_t>(memory) % memory::kBlockAlignment == 0, "whole pages");
  return reinterpret_cast<Bytes>(memory);
}

bool has_moved(const memory::Ticket& ticket) { return ticket.done() && ticket.status().ok(); }

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
  SLUICE_ASSIGN(out_, queue_of(file_, Direction::kToFile));
  SLUICE_ASSIGN(in_, queue_of(file_, Direction::kFromFile));
  notes_ = file_.notes();
  for (const memory::TransferQueue* queue : {out_.get(), in_.get()}) {
    for (std::string& note : queue->notes()) notes_.push_back(std::move(note));
  }
  return {};
}

std::optional<SavedStore::Id> SavedStore::leave(std::byte* from, Bytes bytes) {
  SLUICE_CHECK(bytes > 0, "something leaves");
  const Bytes address = address_of(from);
  const Bytes whole = whole_pages(bytes);
  const std::scoped_lock lock(mutex_);
  const std::optional<Bytes> begin = room_.take(whole);
  if (!begin) return std::nullopt;
  entries_.emplace(next_id_, Entry{{*begin, *begin + whole}, out_->put({address, *begin, whole})});
  return next_id_++;
}

SavedStore::Entry SavedStore::entry(Id id) const {
  const std::scoped_lock lock(mutex_);
  return entries_.at(id);
}

bool SavedStore::left(Id id) const { return has_moved(entry(id).out); }

Status SavedStore::wait_left(Id id) { return out_->wait(entry(id).out); }

void SavedStore::bring(Id id, std::byte* into) {
  const std::scoped_lock lock(mutex_);
  Entry& entry = entries_.at(id);
  SLUICE_CHECK(has_moved(entry.out) && (!entry.in || entry.in->done()),
               "bytes come back after they have left, once at a time");
  entry.in = in_->put({entry.file.begin, address_of(into), entry.file.length()});
}

bool SavedStore::here(Id id) const {
  const Entry known = entry(id);
  return known.in && has_moved(*known.in);
}

Status SavedStore::wait_here(Id id) {
  const Entry known = entry(id);
  SLUICE_CHECK(known.in.has_value(), "bytes that are waited for come back");
  return in_->wait(*known.in);
}

void SavedStore::forget(Id id) {
  const Entry forgotten = entry(id);
  if (!out_->cancel(forgotten.out)) (void)out_->wait(forgotten.out);
  if (forgotten.in && !in_->cancel(*forgotten.in)) (void)in_->wait(*forgotten.in);
  const std::scoped_lock lock(mutex_);
  room_.give(forgotten.file);
  entries_.erase(id);
}

bool SavedStore::empty() const {
  const std::scoped_lock lock(mutex_);
  return entries_.empty();
}

}  // namespace sluice::offload
