// Copies between two memories, shared between the lane's thread and the compute threads.
//
// A copying thread of its own competes with the compute threads for the cores and makes them wait for one another. It
// costs them about twice what the same copy costs when all compute threads make it together, between two kernels
// (measured: 22 to 25 against 54 GB/s of payload on two cores). So copies that are due are left to the compute lane for
// a moment: it looks for them between kernels and calls help(). When it is in the middle of a long kernel, or
// waits itself (expect_help(false)), the lane's thread does the copies. Where the compute threads leave a processor to
// the lanes, nobody helps them.
//
// What comes into fast memory is read soon. So it is copied through the caches, and the kernel that waits for it finds it
// there. What leaves fast memory goes past the caches (streaming_copy.hpp). Streaming both ways is slower:
// ResNet-32 on emulated Optane takes 1.14 to 1.15 times fast-only's time instead of 1.09 to 1.11, Inception v3 on PMBD
// 1.12 to 1.19 instead of 1.05 to 1.08.
//
// Whoever copies from or to an emulated memory is held for as long as that memory would take (memory_line.hpp).
//
// submit(), wait(), in_flight(): lane thread. help(), expect_help(): compute thread. wake(): any.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "sluice/memory/transfer/deadline.hpp"
#include "sluice/memory/transfer/memory_line.hpp"
#include "sluice/memory/transfer/streaming_copy.hpp"
#include "sluice/memory/transfer/transfer_engine.hpp"

namespace sluice::memory {

class SharedCopyEngine final : public TransferEngine {
 public:
  // Between two arenas, given by their first bytes. `helped`: do the compute threads copy too? `emulated`: the
  // bandwidth of an emulated memory, for which whoever copies is held; 0: not held.
  SharedCopyEngine(const std::byte* from, std::byte* to, CopyFunction copy, bool helped = true,
                   BytesPerSecond emulated = 0)
      : from_(from), to_(to), copy_(copy), helped_(helped), line_(emulated) {}

  void submit(TransferId transfer, Bytes from_offset, Bytes to_offset, Bytes bytes) override;
  void wait(std::optional<Seconds> deadline, std::vector<FinishedTransfer>& finished) override;
  void wake() override;
  int in_flight() const override { return in_flight_; }

  void help(const RunTogether& together) override;
  void expect_help(bool expected) override;

  static constexpr Bytes kPieceBytes = kMiB;
  static constexpr Seconds kPatience = 3e-3;  // longer than most kernels take

 private:
  struct Submission {
    TransferId transfer = 0;
    Bytes from = 0;  // of what nobody has begun to copy
    Bytes to = 0;
    Bytes bytes = 0;
    int pieces_under_way = 0;
    Clock::time_point left_until;  // to the compute lane
  };
  using Submissions = std::list<Submission>;

  struct Piece {
    Submissions::iterator of;
    Bytes from = 0;
    Bytes to = 0;
    Bytes bytes = 0;
    Clock::time_point end;  // not over before
  };

  Piece begin_piece(Submissions::iterator submission);
  void run(const Piece& piece) const;
  void end_piece(const Piece& piece);
  bool may_copy(Clock::time_point now) const;
  bool report(std::vector<FinishedTransfer>& finished);

  const std::byte* from_;
  std::byte* to_;
  CopyFunction copy_;
  bool helped_;
  MemoryLine line_;
  int in_flight_ = 0;             // the lane thread's own
  std::atomic<bool> due_{false};  // bytes to copy: all that the compute lane looks at between most kernels

  std::mutex mutex_;  // of everything below
  std::condition_variable changed_;
  Submissions submissions_;
  std::vector<TransferId> done_;
  bool help_expected_ = false;
  bool woken_ = false;
};

// Helped where `threads` compute threads take every processor that this process may use.
std::unique_ptr<TransferEngine> make_copy_engine(const std::byte* from, std::byte* to, CopyFunction copy, int threads,
                                                 BytesPerSecond emulated = 0);

}  // namespace sluice::memory
