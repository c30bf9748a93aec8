// Moves bytes along one link, off the compute threads. One engine per link; each belongs to one lane thread.
//
// Transfers are served first come, first served: no byte of a transfer moves before the last byte of the one submitted
// before it is on its way. Each transfer is cut into requests. submit() never blocks on the device. wait() blocks until
// some transfer is finished, wake() is called from another thread, or the deadline passes.
//
// A transfer with an id below 0 is a further piece of the one submitted before it: it pays no latency of its own.
// Whoever cuts transfers into pieces numbers them so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/base/threads/run_together.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::memory {

// What whoever submits a transfer calls it.
using TransferId = std::int32_t;

struct FinishedTransfer {
  TransferId transfer = 0;
  Status status;
};

class TransferEngine {
 public:
  virtual ~TransferEngine() = default;

  // Starts (or queues) a copy of `bytes` bytes, a multiple of kBlockAlignment. Lane thread only.
  virtual void submit(TransferId transfer, Bytes from_offset, Bytes to_offset, Bytes bytes) = 0;

  // Appends finished transfers. Blocks as described above; with nothing under way it blocks until wake() or the
  // deadline (seconds from now, or none). Lane thread only.
  virtual void wait(std::optional<Seconds> deadline, std::vector<FinishedTransfer>& finished) = 0;

  // Makes a present or the next wait() return. Any thread; cheap when the lane is not waiting.
  virtual void wake() = 0;

  // A thread that computes, when it can. help() does the work that is due and that is cheaper when the threads that
  // compute do it together; most engines have none. expect_help() says whether help() will be called soon: false while
  // compute waits or stands still.
  virtual void help(const RunTogether& /*run*/) {}
  virtual void expect_help(bool /*expected*/) {}

  virtual int in_flight() const = 0;  // transfers submitted and not yet reported

  virtual std::vector<std::string> notes() const { return {}; }  // fallbacks taken when the engine was made
};

}  // namespace sluice::memory
