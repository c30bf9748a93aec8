#include "sluice/memory/transfer/shared_copy_engine.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/base/threads/cpu_affinity.hpp"

namespace sluice::memory {

void SharedCopyEngine::submit(TransferId transfer, Bytes from_offset, Bytes to_offset, Bytes bytes) {
  ++in_flight_;
  const std::lock_guard lock(mutex_);
  submissions_.push_back({transfer, from_offset, to_offset, bytes, 0, Clock::now() + to_duration(kPatience)});
  due_ = true;
}

// The mutex is held.
SharedCopyEngine::Piece SharedCopyEngine::begin_piece(Submissions::iterator submission) {
  const Bytes bytes = std::min(submission->bytes, kPieceBytes);
  const Piece piece{submission, submission->from, submission->to, bytes, line_.end_of(bytes)};
  submission->from += piece.bytes;
  submission->to += piece.bytes;
  submission->bytes -= piece.bytes;
  ++submission->pieces_under_way;
  due_ = std::ranges::any_of(submissions_, [](const Submission& each) { return each.bytes > 0; });
  return piece;
}

void SharedCopyEngine::run(const Piece& piece) const {
  copy_(to_ + piece.to, from_ + piece.from, as_index(piece.bytes));
  MemoryLine::hold_until(piece.end);
}

// The mutex is held.
void SharedCopyEngine::end_piece(const Piece& piece) {
  if (--piece.of->pieces_under_way > 0 || piece.of->bytes > 0) return;
  done_.push_back(piece.of->transfer);
  submissions_.erase(piece.of);
}

// Whether the lane's thread should copy now. The mutex is held.
bool SharedCopyEngine::may_copy(Clock::time_point now) const {
  return due_ && (!help_expected_ || submissions_.front().left_until <= now);
}

// The mutex is held.
bool SharedCopyEngine::report(std::vector<FinishedTransfer>& finished) {
  if (done_.empty()) return false;
  for (const TransferId transfer : done_) finished.push_back({transfer, {}});
  in_flight_ -= count_of(done_);
  done_.clear();
  return true;
}

void SharedCopyEngine::wait(std::optional<Seconds> deadline, std::vector<FinishedTransfer>& finished) {
  const Deadline until = deadline_after(deadline);
  std::unique_lock lock(mutex_);
  for (;;) {
    const Clock::time_point now = Clock::now();
    if (report(finished) || woken_ || (until && now >= *until)) break;
    if (may_copy(now)) {
      const auto first = std::ranges::find_if(submissions_, [](const Submission& each) { return each.bytes > 0; });
      const Piece piece = begin_piece(first);
      lock.unlock();
      run(piece);
      lock.lock();
      end_piece(piece);
      continue;
    }
    const Deadline patience = due_ ? Deadline(submissions_.front().left_until) : std::nullopt;
    if (const Deadline next = earlier(until, patience)) {
      changed_.wait_until(lock, *next);
    } else {
      changed_.wait(lock);
    }
  }
  woken_ = false;
}

void SharedCopyEngine::help(const RunTogether& together) {
  if (!helped_ || !due_.load(std::memory_order_relaxed)) return;
  std::vector<Piece> pieces;
  {
    const std::lock_guard lock(mutex_);
    for (auto submission = submissions_.begin(); submission != submissions_.end(); ++submission) {
      while (submission->bytes > 0) pieces.push_back(begin_piece(submission));
    }
  }
  together(std::ssize(pieces), [&](std::int64_t i) { run(pieces[as_index(i)]); });
  const std::lock_guard lock(mutex_);
  for (const Piece& piece : pieces) end_piece(piece);
  changed_.notify_one();
}

void SharedCopyEngine::expect_help(bool expected) {
  const std::lock_guard lock(mutex_);
  help_expected_ = expected && helped_;
  if (!expected) changed_.notify_one();
}

void SharedCopyEngine::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  changed_.notify_one();
}

std::unique_ptr<TransferEngine> make_copy_engine(const std::byte* from, std::byte* to, CopyFunction copy, int threads,
                                                 BytesPerSecond emulated) {
  return std::make_unique<SharedCopyEngine>(from, to, copy, threads >= usable_cpus(), emulated);
}

}  // namespace sluice::memory
