#include "sluice/probe/probe_stream.hpp"

#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/transfer/engine_factory.hpp"

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
    : writes_(writes), room_(room), pattern_(pattern), driver_(std::move(engine), *this) {
  driver_.start({.name = "probe", .prompt = true});
}

ProbeStream::~ProbeStream() {
  stop_ = true;
  driver_.finish();
}

std::optional<memory::Transfer> ProbeStream::next() {
  if (under_way_ == kUnderWay) return std::nullopt;
  ++under_way_;
  const Bytes bytes = pattern_.transfer_bytes;
  if (at_ + bytes > room_.in_file.length()) at_ = 0;
  const Bytes file = room_.in_file.begin + at_;
  const Bytes memory = room_.in_memory.begin + at_ % (room_.in_memory.length() - bytes + memory::kBlockAlignment);
  at_ += bytes;
  return memory::Transfer{writes_ ? memory : file, writes_ ? file : memory, bytes, begun_++};
}

void ProbeStream::done(const Status& status) {
  --under_way_;
  if (status.ok()) {
    ++transfers_;
  } else {
    failed(status.error());
  }
}

void ProbeStream::failed(const Error& error) {
  if (failed_) return;
  status_ = error;
  failed_ = true;
}

}  // namespace sluice::probe
