#include "sluice/probe/probe_stream.hpp"

#include <algorithm>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/threads/cpu_affinity.hpp"
#include "sluice/base/threads/wake_promptly.hpp"

namespace sluice::probe {
namespace {

constexpr int kUnderWay = 2;

}  // namespace

Result<std::unique_ptr<ProbeStream>> ProbeStream::start(memory::Machine machine, memory::LinkId link,
                                                        const memory::TierStorages& storages, StreamRoom room,
                                                        StreamPattern pattern) {
  memory::Link& path = machine.links[as_index(link)];
  path.throttled = false;
  path.request_bytes = pattern.request_bytes;
  path.queue_depth = pattern.queue_depth;
  SLUICE_ASSIGN(auto engine, memory::make_engine(machine, link, storages));
  const bool writes = machine.tier(path.to).kind->in_file;
  return std::unique_ptr<ProbeStream>(new ProbeStream(std::move(engine), writes, room, pattern));
}

ProbeStream::ProbeStream(std::unique_ptr<memory::TransferEngine> engine, bool writes, StreamRoom room,
                         StreamPattern pattern)
    : engine_(std::move(engine)), writes_(writes), room_(room), pattern_(pattern), thread_([this] { run(); }) {}

void ProbeStream::run() {
  allow_every_cpu();
  wake_promptly();
  memory::TransferId submitted = 0;
  std::vector<memory::FinishedTransfer> finished;
  while (!stop_ && !failed_) {
    while (submitted - transfers_ < kUnderWay) submit(submitted++);
    engine_->wait(std::nullopt, finished);
    take(finished);
    finished.clear();
  }
  while (engine_->in_flight() > 0) engine_->wait(std::nullopt, finished);
}

void ProbeStream::submit(memory::TransferId index) {
  const Bytes bytes = pattern_.transfer_bytes;
  if (next_ + bytes > room_.in_file.length()) next_ = 0;
  const Bytes file = room_.in_file.begin + next_;
  const Bytes memory = room_.in_memory.begin + next_ % (room_.in_memory.length() - bytes + memory::kBlockAlignment);
  engine_->submit(index, writes_ ? memory : file, writes_ ? file : memory, bytes);
  next_ += bytes;
}

void ProbeStream::take(const std::vector<memory::FinishedTransfer>& finished) {
  for (const memory::FinishedTransfer& each : finished) {
    if (each.status.ok()) {
      ++transfers_;
    } else if (!failed_) {
      status_ = each.status;
      failed_ = true;
    }
  }
}

}  // namespace sluice::probe
