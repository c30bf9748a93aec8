#include "sluice/memory/transfer/copy_engine.hpp"

#include <algorithm>
#include <utility>

namespace sluice::memory {

CopyEngine::CopyEngine(Move move, std::vector<std::string> notes) : move_(std::move(move)), notes_(std::move(notes)) {}

void CopyEngine::submit(TransferId transfer, Bytes from_offset, Bytes to_offset, Bytes bytes) {
  queue_.push_back({transfer, from_offset, to_offset, bytes});
}

void CopyEngine::wait(std::optional<Seconds> deadline, std::vector<FinishedTransfer>& finished) {
  const Deadline until = deadline_after(deadline);
  if (queue_.empty()) {
    sleep(until);
    return;
  }
  while (!move_piece(finished)) {
    if (woken_.is_set() || (until && Clock::now() >= *until)) break;
  }
  woken_.rise();
}

// True when that was the last piece of a transfer.
bool CopyEngine::move_piece(std::vector<FinishedTransfer>& finished) {
  Transfer& transfer = queue_.front();
  const Bytes bytes = std::min(transfer.bytes, kPieceBytes);
  Status status = move_(transfer.from, transfer.to, bytes);
  transfer.from += bytes;
  transfer.to += bytes;
  transfer.bytes -= bytes;
  if (status.ok() && transfer.bytes > 0) return false;
  finished.push_back({transfer.id, std::move(status)});
  queue_.pop_front();
  return true;
}

void CopyEngine::sleep(const Deadline& until) {
  if (woken_.try_sleep()) {
    std::unique_lock lock(mutex_);
    const auto is_woken = [this] { return woken_.is_set(); };
    if (until) {
      roused_.wait_until(lock, *until, is_woken);
    } else {
      roused_.wait(lock, is_woken);
    }
  }
  woken_.rise();
}

void CopyEngine::wake() {
  if (!woken_.set()) return;
  const std::lock_guard lock(mutex_);  // the owner is either before its check of the flag, or waiting
  roused_.notify_one();
}

}  // namespace sluice::memory
