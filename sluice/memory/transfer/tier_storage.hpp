// The storage behind every tier of a machine: an arena for memory tiers, a spill file for tiers in files. Opened before
// anything moves, and kept until the last transfer; changed only when nothing moves and nobody remembers an address.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/result.hpp"
#include "sluice/memory/arena.hpp"
#include "sluice/memory/device_memory.hpp"
#include "sluice/memory/files/spill_file.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::memory {

// The memory of a tier that is not in a file, as its kind maps it. kUnsupported for memory of a device that is not given.
Result<Arena> map_tier_arena(const Tier& tier, Bytes bytes, const DeviceMemory* device = nullptr);

class TierStorages {
 public:
  // `arena_bytes` by TierId; missing entries are 0. A tier of 0 bytes gets no storage (no spill file is created).
  // `stitches`: of the fast tier. `device` maps and copies what the host does not, and outlives this.
  static Result<TierStorages> open(const Machine& machine, std::span<const Bytes> arena_bytes,
                                   std::span<const Stitch> stitches = {}, const DeviceMemory* device = nullptr);

  // For other sizes: storage that is large enough, and has and is to have no stitches, stays with all that is in it. Other
  // storage is given back before its successor is reserved. After an error the tiers that have not got theirs have none.
  Status change(const Machine& machine, std::span<const Bytes> arena_bytes, std::span<const Stitch> stitches = {},
                const DeviceMemory* device = nullptr);
  // By TierId: what change() would leave.
  std::vector<bool> kept(std::span<const Bytes> arena_bytes, std::span<const Stitch> stitches = {}) const;

  std::byte* base(TierId tier) const;        // of the tier's arena, which never moves; nullptr for a file tier
  Bytes bytes(TierId tier) const;            // addresses there are, those of stitches too
  const SpillFile* file(TierId tier) const;  // nullptr for a memory tier

  // Synchronous copies for start-up, checkpoints and results; any offset and length inside bytes(tier). Not to be used
  // while a transfer touches the same range.
  Status read(TierId tier, Bytes offset, std::span<std::byte> into) const;
  Status write(TierId tier, Bytes offset, std::span<const std::byte> from) const;

  // Touches the arena's pages with `threads` threads; nothing to do for a file.
  void prefault(TierId tier, int threads) const;

  std::vector<std::string> notes() const;  // fallbacks taken, each once

 private:
  struct Storage {
    std::string name;
    const DeviceMemory* device = nullptr;  // where the host cannot reach the arena
    Arena arena;
    std::unique_ptr<SpillFile> file;
    bool stitched = false;
  };
  void give_back(const std::vector<bool>& kept);
  const Storage& storage(TierId tier) const { return storages_.at(as_index(tier)); }
  Status check_range(TierId tier, Bytes offset, std::size_t bytes) const;

  std::vector<Storage> storages_;
};

}  // namespace sluice::memory
