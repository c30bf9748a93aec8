#include "sluice/exec/probe/probe_stream.hpp"

#include <algorithm>
#include <vector>

#include "sluice/base/time_of.hpp"
#include "sluice/exec/transfer/deadline.hpp"

namespace sluice {
namespace {

// First failure among them.
Status status_of(const std::vector<FinishedTransfer>& finished) {
  for (const FinishedTransfer& each : finished) SLUICE_RETURN_IF_ERROR(each.status);
  return {};
}

// Counts what finishes, and leaves out the first eighth, in which the streams get under way.
class Meter {
 public:
  explicit Meter(const Together& together) : together_(together) {}

  // These bytes have finished just now.
  void add(Bytes bytes) {
    if (bytes == 0) return;
    moved_ += bytes;
    last_ = std::chrono::duration<Seconds>(Clock::now() - begin_).count();
    if (warm_bytes_ > 0 || share() < 1.0 / 8) return;
    warm_bytes_ = moved_;
    warm_ = last_;
  }
  bool enough() const { return share() >= 1 && moved_ > warm_bytes_; }
  BytesPerSecond bandwidth() const { return static_cast<double>(moved_ - warm_bytes_) / (last_ - warm_); }

 private:
  double share() const {
    return std::max(static_cast<double>(moved_) / static_cast<double>(together_.enough), last_ / together_.limit);
  }

  const Together& together_;
  Clock::time_point begin_ = Clock::now();
  Bytes moved_ = 0;
  Bytes warm_bytes_ = 0;
  Seconds last_ = 0;
  Seconds warm_ = 0;
};

}  // namespace

ProbeStream::ProbeStream(const Machine& machine, LinkId link, const TierStorages& storages, Interval<Bytes> in_file,
                         Interval<Bytes> in_memory)
    : machine_(machine),
      link_(link),
      storages_(storages),
      in_file_(in_file),
      in_memory_(in_memory),
      writes_(machine.tier(machine.link(link).to).kind == TierKind::kFile) {
  this->link().throttled = false;
}

void ProbeStream::set_requests(Bytes bytes, int queue_depth) {
  link().request_bytes = bytes;
  link().queue_depth = queue_depth;
}

void ProbeStream::submit(TransferEngine& engine, TransferIndex index, Bytes bytes) {
  if (next_ + bytes > in_file_.length()) next_ = 0;
  const Bytes file = in_file_.begin + next_;
  const Bytes memory =
      in_memory_.begin + next_ % std::max(kTensorAlignment, in_memory_.length() - bytes + kTensorAlignment);
  engine.submit(index, writes_ ? memory : file, writes_ ? file : memory, bytes);
  next_ += bytes;
}

Result<Seconds> ProbeStream::time_transfers(Bytes bytes, int count) {
  SLUICE_ASSIGN(auto engine, make_engine(machine_, link_, storages_));
  std::vector<FinishedTransfer> finished;
  const Seconds taken = time_of([&] {
    for (TransferIndex index = 0; index < count; ++index) submit(*engine, index, bytes);
    while (engine->in_flight() > 0) engine->wait(std::nullopt, finished);
  });
  SLUICE_RETURN_IF_ERROR(status_of(finished));
  return taken;
}

Result<BytesPerSecond> ProbeStream::bandwidth(Bytes bytes) {
  const Bytes transfer = std::min(bytes, 16 * kMiB);
  const int count = static_cast<int>(bytes / transfer);
  SLUICE_ASSIGN(const Seconds taken, time_transfers(transfer, count));
  return static_cast<double>(transfer * count) / taken;
}

Result<BytesPerSecond> ProbeStream::bandwidth_beside(Together& together) {
  Result<BytesPerSecond> measured = stream_beside(together);
  if (!measured.ok()) together.done = together.streams;
  return measured;
}

Result<BytesPerSecond> ProbeStream::stream_beside(Together& together) {
  const auto made = make_engine(machine_, link_, storages_);
  together.ready.arrive_and_wait();
  if (!made.ok()) return made.error();
  TransferEngine& engine = **made;
  const Bytes bytes = std::min(link().request_bytes, in_file_.length());
  Meter meter(together);
  Status status;
  TransferIndex submitted = 0;
  while (submitted < 2 * link().queue_depth) submit(engine, submitted++, bytes);
  for (bool enough = false; together.done < together.streams && status.ok();) {
    std::vector<FinishedTransfer> finished;
    engine.wait(std::nullopt, finished);
    status = status_of(finished);
    meter.add(bytes * static_cast<Bytes>(finished.size()));
    if (!enough && meter.enough()) {
      enough = true;
      ++together.done;
    }
    for (std::size_t i = 0; i < finished.size(); ++i) submit(engine, submitted++, bytes);
  }
  std::vector<FinishedTransfer> rest;
  while (engine.in_flight() > 0) engine.wait(std::nullopt, rest);
  SLUICE_RETURN_IF_ERROR(status);
  return meter.bandwidth();
}

}  // namespace sluice
