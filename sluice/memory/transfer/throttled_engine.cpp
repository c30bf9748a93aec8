#include "sluice/memory/transfer/throttled_engine.hpp"

#include <algorithm>
#include <utility>

#include "sluice/base/check.hpp"

namespace sluice::memory {

ThrottledEngine::ThrottledEngine(std::unique_ptr<TransferEngine> inner, BytesPerSecond bandwidth, Seconds latency)
    : inner_(std::move(inner)), bandwidth_(bandwidth), latency_(latency) {
  SLUICE_CHECK(bandwidth > 0, "a throttle needs a bandwidth");
}

void ThrottledEngine::submit(TransferId transfer, Bytes from_offset, Bytes to_offset, Bytes bytes) {
  const Clock::time_point now = Clock::now();
  const Clock::time_point first_byte = std::max(line_free_, now) + to_duration(transfer < 0 ? 0 : latency_);
  line_free_ = first_byte + to_duration(static_cast<double>(bytes) / bandwidth_);
  transfers_.push_back({transfer, from_offset, to_offset, bytes, first_byte, line_free_, 0, {}});
  issue_due(now);
}

void ThrottledEngine::issue_due(Clock::time_point now) {
  for (Transfer& transfer : transfers_) {
    while (transfer.bytes > 0 && transfer.next_piece <= now) {
      const Bytes piece = std::min(transfer.bytes, kPieceBytes);
      inner_->submit(transfer.id, transfer.from, transfer.to, piece);
      ++transfer.outstanding;
      transfer.from += piece;
      transfer.to += piece;
      transfer.bytes -= piece;
      transfer.next_piece += to_duration(static_cast<double>(piece) / bandwidth_);
    }
    if (transfer.bytes > 0) return;  // later ones are due later
  }
}

bool ThrottledEngine::report_due(Clock::time_point now, std::vector<FinishedTransfer>& finished) {
  const std::size_t before = finished.size();
  for (auto each = transfers_.begin(); each != transfers_.end();) {
    const bool done = each->bytes == 0 && each->outstanding == 0 && (each->end <= now || !each->status.ok());
    if (done) finished.push_back({each->id, std::move(each->status)});
    each = done ? transfers_.erase(each) : std::next(each);
  }
  return finished.size() > before;
}

// The next moment at which time alone gives something to do.
Deadline ThrottledEngine::next_event() const {
  Deadline next;
  for (const Transfer& transfer : transfers_) {
    if (transfer.bytes > 0) return earlier(next, transfer.next_piece);
    if (transfer.outstanding == 0) next = earlier(next, transfer.end);
  }
  return next;
}

void ThrottledEngine::collect_inner() {
  for (FinishedTransfer& piece : inner_finished_) {
    const auto transfer = std::find_if(transfers_.begin(), transfers_.end(),
                                       [&](const Transfer& each) { return each.id == piece.transfer; });
    SLUICE_CHECK(transfer != transfers_.end(), "a piece of no transfer");
    --transfer->outstanding;
    if (piece.status.ok() || !transfer->status.ok()) continue;
    transfer->status = std::move(piece.status);
    transfer->bytes = 0;  // the rest is not worth moving
  }
  inner_finished_.clear();
}

void ThrottledEngine::wait(std::optional<Seconds> deadline, std::vector<FinishedTransfer>& finished) {
  const Deadline until = deadline_after(deadline);
  for (;;) {
    issue_due(Clock::now());
    inner_->wait(seconds_until(earlier(until, next_event())), inner_finished_);
    collect_inner();
    const Clock::time_point now = Clock::now();
    const bool reported = report_due(now, finished);
    if (woken_.exchange(false) || reported || (until && *until <= now)) return;
  }
}

void ThrottledEngine::wake() {
  woken_ = true;
  inner_->wake();
}

}  // namespace sluice::memory
