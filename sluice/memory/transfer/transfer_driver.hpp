// Drives the engine of one link, for whoever has transfers for it: hands the engine what may begin, so that the link never
// rests while something may, waits, and says what is done. Executor lanes, queues of tickets and probes are built on it.
//
// To everybody else the link serves one transfer at a time, first come, first served, whatever its engine does: what the
// engine finishes before an earlier transfer, be it with an error, is reported behind that one.
//
// On whose thread:
//   * one of its own, by start(). It is asleep in TransferEngine::wait() whenever nothing can begin or be reported, so it
//     takes no time from compute but what the engine needs.
//   * the caller's, by drive(). No thread has to be woken, which would cost 6 to 48 us: more than a page fault, or a read
//     of 4 KiB, can pay.
// Either way no lock is taken and nobody is woken between the source, the engine and back: a few virtual calls and a place
// in a deque for each transfer are all that is added to what the engine does (measured: 45 ns).
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sluice/memory/transfer/transfer_engine.hpp"

namespace sluice::memory {

struct Transfer {
  Bytes from = 0;  // offsets, as the engine takes them
  Bytes to = 0;
  Bytes bytes = 0;
  TransferId id = 0;  // what the engine is told; no other that is under way has it
};

// Who has transfers for a link. Every function is called on the thread that drives.
class TransferSource {
 public:
  // The next one, where it may begin now. Whoever answers with nothing wakes the driver when that changes.
  virtual std::optional<Transfer> next() = 0;
  // Of those under way, the one that began first is done.
  virtual void done(const Status& status) = 0;
  // The driver's thread ends, because it got no memory, say: nothing more begins or is reported. From now on stopped().
  virtual void failed(const Error& error) = 0;
  // No more will begin. Whoever makes it true wakes the driver.
  virtual bool stopped() const = 0;

 protected:
  ~TransferSource() = default;
};

class TransferDriver {
 public:
  // It resets its CPU affinity: threads that are started after OpenMP has bound its own inherit a single core, and would
  // share it with a compute thread.
  struct Thread {
    std::string name;     // the first 15 characters
    bool prompt = false;  // wake_promptly(): where the device moves the bytes, and the thread only says what and when
  };

  // `source` outlives the driver.
  TransferDriver(std::unique_ptr<TransferEngine> engine, TransferSource& source);

  void start(Thread thread);
  // Without a thread: begins what may, waits as TransferEngine::wait() does, reports. Always on the same thread.
  void drive();
  // When the source has stopped: returns when what was under way is done and the thread has ended.
  void finish();

  // TransferEngine's.
  void wake() { engine_->wake(); }
  void help(const RunTogether& run) { engine_->help(run); }
  void expect_help(bool expected) { engine_->expect_help(expected); }
  std::vector<std::string> notes() const { return engine_->notes(); }

 private:
  struct UnderWay {
    TransferId id = 0;
    std::optional<Status> finished;  // by the engine
  };

  void run(const Thread& thread);
  void submit(const Transfer& transfer);
  void run_out();
  void wait();
  void report();

  std::unique_ptr<TransferEngine> engine_;
  TransferSource& source_;
  std::deque<UnderWay> under_way_;  // in the order in which they began
  std::vector<FinishedTransfer> finished_;
  std::jthread thread_;  // ends before what it uses
};

}  // namespace sluice::memory
