// Slows another engine down to a bandwidth, so that a fast link can stand for a slow one.
//
// The link is a queue served in order of submission. Each transfer has a virtual start, max(when it was submitted, the
// previous one's virtual end), and a virtual end = start + latency + bytes / bandwidth (without latency for a further
// piece of the one before, transfer_engine.hpp). It is reported done no earlier than its end. It is handed to the inner
// engine in pieces, each no earlier than its share of that time, so that the real work is spread as the slow link would
// spread it. Ends are absolute, so the error of one sleep (about 0.1 ms) does not add up. The engine sleeps, it never
// spins. If the inner engine is slower than the throttle, its own pace shows.
#pragma once

#include <atomic>
#include <deque>
#include <memory>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/transfer/deadline.hpp"
#include "sluice/memory/transfer/transfer_engine.hpp"

namespace sluice::memory {

class ThrottledEngine final : public TransferEngine {
 public:
  ThrottledEngine(std::unique_ptr<TransferEngine> inner, BytesPerSecond bandwidth, Seconds latency);

  void submit(TransferId transfer, Bytes from_offset, Bytes to_offset, Bytes bytes) override;
  void wait(std::optional<Seconds> deadline, std::vector<FinishedTransfer>& finished) override;
  void wake() override;
  void help(const RunTogether& run) override { inner_->help(run); }
  void expect_help(bool expected) override { inner_->expect_help(expected); }
  int in_flight() const override { return count_of(transfers_); }
  std::vector<std::string> notes() const override { return inner_->notes(); }

  static constexpr Bytes kPieceBytes = 8 * kMiB;

 private:
  struct Transfer {
    TransferId id = 0;
    Bytes from = 0;  // of what has not been issued
    Bytes to = 0;
    Bytes bytes = 0;
    Clock::time_point next_piece;  // when the next piece may be issued
    Clock::time_point end;         // virtual
    int outstanding = 0;           // pieces in the inner engine
    Status status;
  };

  void issue_due(Clock::time_point now);
  bool report_due(Clock::time_point now, std::vector<FinishedTransfer>& finished);
  Deadline next_event() const;
  void collect_inner();

  std::unique_ptr<TransferEngine> inner_;
  BytesPerSecond bandwidth_;
  Seconds latency_;
  Clock::time_point line_free_;
  std::deque<Transfer> transfers_;  // in order of submission
  std::vector<FinishedTransfer> inner_finished_;
  std::atomic<bool> woken_{false};
};

}  // namespace sluice::memory
