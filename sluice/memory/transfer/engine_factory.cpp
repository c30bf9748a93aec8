#include "sluice/memory/transfer/engine_factory.hpp"

#include <fmt/format.h>

#include <utility>

#include "sluice/memory/transfer/file_engine.hpp"
#include "sluice/memory/transfer/shared_copy_engine.hpp"
#include "sluice/memory/transfer/throttled_engine.hpp"

namespace sluice::memory {
namespace {

Result<std::unique_ptr<TransferEngine>> engine_of_file(const Machine& machine, const Link& link,
                                                       const TierStorages& storages, bool pages_stay) {
  if (storages.file(link.from) != nullptr && storages.file(link.to) != nullptr) {
    return Error{ErrorCode::kUnsupported, fmt::format("no engine moves bytes from file tier '{}' to file tier '{}'",
                                                      machine.tier(link.from).name, machine.tier(link.to).name)};
  }
  const SpillFile* const from_file = storages.file(link.from);
  UringEngine::Config config = uring_config(machine, link, storages);
  config.registers = pages_stay;
  return make_file_engine(from_file != nullptr ? *from_file : *storages.file(link.to), std::move(config));
}

Result<std::unique_ptr<TransferEngine>> make(const Machine& machine, LinkId link_id, const TierStorages& storages,
                                             bool pages_stay) {
  const Link& link = machine.link(link_id);
  std::unique_ptr<TransferEngine> engine;
  const bool file = storages.file(link.from) != nullptr || storages.file(link.to) != nullptr;
  if (file) {
    SLUICE_ASSIGN(engine, engine_of_file(machine, link, storages, pages_stay));
  } else {
    const CopyFunction copy = link.to == kFastTier ? cached_copy : streaming_copy;
    engine =
        make_copy_engine(storages.base(link.from), storages.base(link.to), copy, machine.threads, held_bandwidth(link));
  }
  if (link.throttled && (file || held_bandwidth(link) == 0))
    engine = std::make_unique<ThrottledEngine>(std::move(engine), link.bandwidth, link.latency);
  return engine;
}

}  // namespace

Result<std::unique_ptr<TransferEngine>> make_engine(const Machine& machine, LinkId link, const TierStorages& storages) {
  return make(machine, link, storages, true);
}

Result<std::unique_ptr<TransferEngine>> make_engine_of_pages(const Machine& machine, LinkId link,
                                                             const TierStorages& storages) {
  return make(machine, link, storages, false);
}

}  // namespace sluice::memory
