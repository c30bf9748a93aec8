#include "sluice/memory/transfer/engine_factory.hpp"

#include <fmt/format.h>

#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/transfer/copy_engine.hpp"
#include "sluice/memory/transfer/shared_copy_engine.hpp"
#include "sluice/memory/transfer/throttled_engine.hpp"
#include "sluice/memory/transfer/uring_engine.hpp"

namespace sluice::memory {
namespace {

// The lane thread waits for each piece of file I/O: slower, but works wherever files do.
std::unique_ptr<TransferEngine> blocking_file_engine(const Link& link, const TierStorages& storages, std::string note) {
  const bool from_file = storages.file(link.from) != nullptr;
  const SpillFile& file = *storages.file(from_file ? link.from : link.to);
  std::byte* const arena = storages.base(from_file ? link.to : link.from);
  auto move = [from_file, &file, arena](Bytes from, Bytes to, Bytes bytes) {
    const auto size = as_index(bytes);
    return from_file ? file.read(from, {arena + to, size}) : file.write(to, {arena + from, size});
  };
  return std::make_unique<CopyEngine>(std::move(move), std::vector<std::string>{std::move(note)});
}

Result<std::unique_ptr<TransferEngine>> make_file_engine(const Machine& machine, const Link& link,
                                                         const TierStorages& storages, bool pages_stay) {
  if (storages.file(link.from) != nullptr && storages.file(link.to) != nullptr) {
    return Error{ErrorCode::kUnsupported, fmt::format("no engine moves bytes from file tier '{}' to file tier '{}'",
                                                      machine.tier(link.from).name, machine.tier(link.to).name)};
  }
  UringEngine::Config config = uring_config(machine, link, storages);
  config.registers = pages_stay;
  auto engine = UringEngine::create(std::move(config));
  if (engine.ok()) return std::unique_ptr<TransferEngine>(std::move(engine).value());
  if (engine.error().code != ErrorCode::kUnsupported) return engine.error();
  return blocking_file_engine(link, storages, engine.error().message + "; file transfers block their lane instead");
}

Result<std::unique_ptr<TransferEngine>> make(const Machine& machine, LinkId link_id, const TierStorages& storages,
                                             bool pages_stay) {
  const Link& link = machine.link(link_id);
  std::unique_ptr<TransferEngine> engine;
  const bool file = storages.file(link.from) != nullptr || storages.file(link.to) != nullptr;
  if (file) {
    SLUICE_ASSIGN(engine, make_file_engine(machine, link, storages, pages_stay));
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
