// Moves bytes in the lane thread itself, a piece at a time, first come first served: the fallback for files where
// io_uring is not allowed. (Between memories: shared_copy_engine.hpp.)
//
// Each wait() moves at least one piece and returns as soon as a transfer is finished, so that a wake-up or a deadline
// is seen within a piece's time (1 MiB: about 50 us in memory).
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/transfer/deadline.hpp"
#include "sluice/memory/transfer/transfer_engine.hpp"
#include "sluice/memory/transfer/wake_flag.hpp"

namespace sluice::memory {

class CopyEngine final : public TransferEngine {
 public:
  using Move = std::function<Status(Bytes from_offset, Bytes to_offset, Bytes bytes)>;

  // `move` is called in the lane thread with at most kPieceBytes.
  explicit CopyEngine(Move move, std::vector<std::string> notes = {});

  void submit(TransferId transfer, Bytes from_offset, Bytes to_offset, Bytes bytes) override;
  void wait(std::optional<Seconds> deadline, std::vector<FinishedTransfer>& finished) override;
  void wake() override;
  int in_flight() const override { return count_of(queue_); }
  std::vector<std::string> notes() const override { return notes_; }

  static constexpr Bytes kPieceBytes = kMiB;

 private:
  struct Transfer {
    TransferId id = 0;
    Bytes from = 0;  // of what is left
    Bytes to = 0;
    Bytes bytes = 0;
  };

  bool move_piece(std::vector<FinishedTransfer>& finished);
  void sleep(const Deadline& until);

  Move move_;
  std::vector<std::string> notes_;
  std::deque<Transfer> queue_;
  WakeFlag woken_;
  std::mutex mutex_;
  std::condition_variable roused_;
};

}  // namespace sluice::memory
