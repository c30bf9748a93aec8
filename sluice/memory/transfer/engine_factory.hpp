// Chooses the transfer engine for a link: io_uring where one end is a file (blocking file I/O where io_uring is not
// allowed), copies between memory tiers. The engine of a throttled link is slowed down. Where a processor copies, the
// processor is held for as long as the link takes (memory_line.hpp). Where a device copies (Link::copied_by), only the
// time passes (throttled_engine.hpp).
#pragma once

#include <memory>

#include "sluice/base/result.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/memory/transfer/tier_storage.hpp"
#include "sluice/memory/transfer/transfer_engine.hpp"

namespace sluice::memory {

// Any thread may make the engine; its lane thread is the first to call submit() or wait(), and the only one from then
// on. `storages` must outlive the engine and be as large as every transfer needs. Unsupported: file to file.
Result<std::unique_ptr<TransferEngine>> make_engine(const Machine& machine, LinkId link, const TierStorages& storages);

// The same where the arena's pages are given back to the system while they lie in a file: io_uring keeps none of them.
Result<std::unique_ptr<TransferEngine>> make_engine_of_pages(const Machine& machine, LinkId link,
                                                             const TierStorages& storages);

}  // namespace sluice::memory
