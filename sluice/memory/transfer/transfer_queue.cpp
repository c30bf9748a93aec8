#include "sluice/memory/transfer/transfer_queue.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sluice/base/check.hpp"

namespace sluice::memory {

TransferQueue::TransferQueue(std::unique_ptr<TransferEngine> engine, Config config)
    : has_thread_(config.thread.has_value()),
      bytes_under_way_at_most_(config.bytes_under_way),
      driver_(std::move(engine), *this) {
  SLUICE_CHECK(config.bytes_under_way > 0, "something may be under way");
  if (config.thread) driver_.start(*std::move(config.thread));
}

TransferQueue::~TransferQueue() {
  std::deque<Entry> cancelled;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    cancelled.swap(waiting_);
  }
  for (const Entry& each : cancelled) end_cancelled(*each);
  driver_.wake();
  driver_.finish();
}

Ticket TransferQueue::put(Transfer transfer, std::function<void(const Status&)> when_done) {
  auto state = std::make_shared<Ticket::State>();
  state->transfer = transfer;
  state->when_done = std::move(when_done);
  {
    const std::lock_guard lock(mutex_);
    if (!broken_.ok()) {
      end(*state, broken_);
      return Ticket(std::move(state));
    }
    waiting_.push_back(state);
  }
  if (has_thread_) driver_.wake();
  return Ticket(std::move(state));
}

Status TransferQueue::wait(const Ticket& ticket) {
  if (has_thread_) {
    ticket.state_->done.wait(0);
  } else {
    while (!ticket.done()) driver_.drive();
  }
  return ticket.status();
}

bool TransferQueue::cancel(const Ticket& ticket) {
  {
    const std::lock_guard lock(mutex_);
    const auto place = std::ranges::find(waiting_, ticket.state_);
    if (place == waiting_.end()) return false;
    waiting_.erase(place);
  }
  end_cancelled(*ticket.state_);
  return true;
}

std::optional<Transfer> TransferQueue::next() {
  if (bytes_under_way_ >= bytes_under_way_at_most_) return std::nullopt;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return std::nullopt;
    under_way_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  Transfer transfer = under_way_.back()->transfer;
  transfer.id = last_id_ = last_id_ == std::numeric_limits<TransferId>::max() ? 0 : last_id_ + 1;
  bytes_under_way_ += transfer.bytes;
  return transfer;
}

void TransferQueue::done(const Status& status) {
  const Entry entry = std::move(under_way_.front());
  under_way_.pop_front();
  bytes_under_way_ -= entry->transfer.bytes;
  if (const auto when_done = std::exchange(entry->when_done, {})) when_done(status);
  end(*entry, status);
}

void TransferQueue::failed(const Error& error) {
  std::deque<Entry> all;
  {
    const std::lock_guard lock(mutex_);
    broken_ = error;
    stopped_ = true;
    all.swap(waiting_);
  }
  for (const Entry& each : under_way_) end(*each, error);
  for (const Entry& each : all) end(*each, error);
}

void TransferQueue::end(Ticket::State& state, const Status& status) {
  state.status = status;
  state.done = 1;
  state.done.notify_all();
}

void TransferQueue::end_cancelled(Ticket::State& state) {
  state.when_done = {};
  end(state, Error{ErrorCode::kInterrupted, "the transfer was cancelled before it began"});
}

}  // namespace sluice::memory
