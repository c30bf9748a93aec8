// Streams transfers over one file link for as long as it lives, in a thread of its own, as a lane of a step does.
//
// A lane has few transfers under way: those that ops have just asked for. So a stream hands its engine the next one when
// one of two is done: what is left under way is two transfers, however many requests the queue would take. Deeper
// streams show what the disk could do, not what steps get.
//
// The stream walks round and round through a part of the file and a part of the memory tier; each transfer begins where
// the one before it ended. Streams that run at once get parts that do not overlap. The link is not throttled, whatever
// the machine says. What has moved may be asked by any thread.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "sluice/base/interval.hpp"
#include "sluice/memory/transfer/tier_storage.hpp"
#include "sluice/memory/transfer/transfer_driver.hpp"

namespace sluice::probe {

struct StreamPattern {
  Bytes transfer_bytes = 0;
  Bytes request_bytes = 0;  // a transfer is cut into requests of this size
  int queue_depth = 0;      // requests under way at most
};

// The parts that a stream walks through.
struct StreamRoom {
  Interval<Bytes> in_file;
  Interval<Bytes> in_memory;
};

class ProbeStream final : private memory::TransferSource {
 public:
  // Begins to stream. `storages` must outlive the stream and hold `room`, which must hold a transfer.
  static Result<std::unique_ptr<ProbeStream>> start(memory::Machine machine, memory::LinkId link,
                                                    const memory::TierStorages& storages, StreamRoom room,
                                                    StreamPattern pattern);
  ~ProbeStream();  // what is under way runs out
  ProbeStream(const ProbeStream&) = delete;
  ProbeStream& operator=(const ProbeStream&) = delete;

  int transfers() const { return transfers_; }  // that have finished
  Bytes moved() const { return transfers_ * pattern_.transfer_bytes; }
  // The first failure; a stream that has failed moves nothing more.
  Status status() const { return failed_ ? status_ : Status{}; }

 private:
  ProbeStream(std::unique_ptr<memory::TransferEngine> engine, bool writes, StreamRoom room, StreamPattern pattern);
  std::optional<memory::Transfer> next() override;
  void done(const Status& status) override;
  void failed(const Error& error) override;
  bool stopped() const override { return stop_ || failed_; }

  bool writes_ = false;
  StreamRoom room_;
  StreamPattern pattern_;
  Bytes at_ = 0;  // where in its part of the file the next transfer goes
  int under_way_ = 0;
  memory::TransferId begun_ = 0;
  std::atomic<int> transfers_{0};
  std::atomic<bool> stop_{false};
  std::atomic<bool> failed_{false};
  Status status_;  // written before `failed_`
  memory::TransferDriver driver_;
};

}  // namespace sluice::probe
