#include "sluice/probe/probe_storage.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "sluice/base/as_index.hpp"

namespace sluice::probe {
namespace {

constexpr Bytes kMemoryBytes = 128 * kMiB;  // beyond the caches
constexpr Bytes kWritePiece = 4 * kMiB;

}  // namespace

Result<ProbeStorage> ProbeStorage::open(const memory::Machine& machine, const memory::Link& link, Bytes file_bytes) {
  ProbeStorage storage;
  std::vector<Bytes> sizes(machine.tiers.size(), 0);
  for (const memory::TierId id : {link.from, link.to}) {
    const memory::Tier& tier = machine.tier(id);
    const bool file = tier.kind->in_file;
    Bytes& size = sizes[as_index(id)];
    size = file ? file_bytes : kMemoryBytes;
    if (tier.capacity > 0) size = align_down(std::min(size, tier.capacity), memory::kBlockAlignment);
    (file ? storage.in_file_ : storage.in_memory_) = size;
    if (file) storage.file_tier_ = id;
  }
  SLUICE_ASSIGN(storage.storages_, memory::TierStorages::open(machine, sizes));
  SLUICE_RETURN_IF_ERROR(storage.write_file_once());
  return storage;
}

StreamRoom ProbeStorage::room(int part, int parts) const {
  const auto cut = [&](Bytes bytes) {
    const Bytes length = align_down(bytes / parts, memory::kBlockAlignment);
    if (length == 0) return Interval<Bytes>{0, memory::kBlockAlignment};  // what is written has no meaning anyway
    return Interval<Bytes>{part * length, (part + 1) * length};
  };
  return {cut(in_file_), cut(in_memory_)};
}

// Blocks that were only preallocated read as zeros without the disk, and cost more to write the first time.
Status ProbeStorage::write_file_once() const {
  const std::vector<std::byte> content(as_index(kWritePiece), std::byte{0x5a});
  for (Bytes at = 0; at < in_file_; at += kWritePiece) {
    const auto bytes = as_index(std::min(kWritePiece, in_file_ - at));
    SLUICE_RETURN_IF_ERROR(storages_.write(file_tier_, at, std::span(content).first(bytes)));
  }
  return {};
}

}  // namespace sluice::probe
