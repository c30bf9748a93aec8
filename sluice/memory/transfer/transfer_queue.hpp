// The queue of one link: transfers are put in from any thread, each for a ticket that says when and how it ended. First
// come, first served, so many bytes at a time as keep the device busy.
//
//   put()  ->  (cancel(), until it begins)  ->  Ticket::done()  or  wait()
//
// On whose thread (transfer_driver.hpp):
//   * with Config::thread, one of the queue's: transfers begin at once, and every function may be called on any thread.
//   * without, the caller's: transfers begin and end while wait() is called, and every function is called on one thread.
//     Beside the engine itself that costs 120 ns, a thread of the queue's 15 to 50 us (measured, reading 4 KiB of a file).
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "sluice/memory/transfer/transfer_driver.hpp"

namespace sluice::memory {

// A transfer that was put into a queue; copies are of the same one. The queue may be gone.
class Ticket {
 public:
  bool done() const { return state_->done.load() != 0; }
  // Of a ticket that is done(): how the transfer ended; kInterrupted where it was cancelled.
  const Status& status() const { return state_->status; }

 private:
  friend class TransferQueue;
  struct State {
    Transfer transfer;
    std::function<void(const Status&)> when_done;
    Status status;                      // written before `done`
    std::atomic<std::int32_t> done{0};  // 1: it is
  };
  explicit Ticket(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

class TransferQueue final : private TransferSource {
 public:
  struct Config {
    std::optional<TransferDriver::Thread> thread = {};
    // A transfer begins when fewer are under way: enough to keep a disk busy, and little to wait for where what is under
    // way is not wanted any more.
    Bytes bytes_under_way = 64 * kMiB;
  };

  TransferQueue(std::unique_ptr<TransferEngine> engine, Config config);
  // What has not begun is cancelled; what is under way runs out.
  ~TransferQueue();
  TransferQueue(const TransferQueue&) = delete;
  TransferQueue& operator=(const TransferQueue&) = delete;

  // Transfer::id is the queue's. `when_done` is called on the driving thread, in the order in which transfers were put in,
  // before the ticket is done(); not where it is cancelled. It may put in others, and does not wait.
  Ticket put(Transfer transfer, std::function<void(const Status&)> when_done = {});

  // Returns when the ticket is done: its status.
  Status wait(const Ticket& ticket);

  // The transfer never begins, and its ticket is done. False: it has begun, or was done before.
  bool cancel(const Ticket& ticket);

  std::vector<std::string> notes() const { return driver_.notes(); }

 private:
  using Entry = std::shared_ptr<Ticket::State>;

  std::optional<Transfer> next() override;
  void done(const Status& status) override;
  void failed(const Error& error) override;
  bool stopped() const override { return stopped_; }
  static void end(Ticket::State& state, const Status& status);
  static void end_cancelled(Ticket::State& state);

  const bool has_thread_;
  const Bytes bytes_under_way_at_most_;

  // The driving thread's own.
  std::deque<Entry> under_way_;
  Bytes bytes_under_way_ = 0;
  TransferId last_id_ = 0;  // goes round

  std::mutex mutex_;
  std::deque<Entry> waiting_;
  Status broken_;  // the thread has ended: what is put in ends with this
  std::atomic<bool> stopped_{false};
  TransferDriver driver_;
};

}  // namespace sluice::memory
