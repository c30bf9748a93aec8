#include "sluice/memory/transfer/tier_storage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "sluice/base/as_index.hpp"
#include "sluice/base/limits/memory_allowance.hpp"
#include "sluice/memory/process_memory.hpp"

namespace sluice::memory {
namespace {

void append(const std::vector<std::string>& notes, std::vector<std::string>& all) {
  for (const std::string& note : notes) {
    if (std::find(all.begin(), all.end(), note) == all.end()) all.push_back(note);
  }
}

// Arenas that lie in the host's memory, whatever they stand for.
bool in_host_memory(const Tier& tier) { return tier.kind->host_reaches && !tier.kind->in_file; }

// Together no more than the kernel lets this process have: it grants addresses freely, and ends whoever uses them.
Status check_host_memory(const Machine& machine, std::span<const Bytes> arena_bytes) {
  Bytes together = 0;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(arena_bytes.size(), machine.tiers.size()); ++i) {
    if (!in_host_memory(machine.tiers[i]) || arena_bytes[i] == 0) continue;
    together += arena_bytes[i];
    parts.push_back(fmt::format("{} for tier '{}'", format_bytes(arena_bytes[i]), machine.tiers[i].name));
  }
  const MemoryAllowance& allowed = memory_allowance();
  if (together <= allowed.with_swap) return {};
  return Error{
      ErrorCode::kOutOfSpace,
      fmt::format("{} of memory are needed ({}), and this process may have {}{}; set smaller budgets, or raise "
                  "the limit",
                  format_bytes(together), fmt::join(parts, ", "), format_bytes(allowed.with_swap),
                  allowed.by.empty() ? "" : fmt::format(" (what is left by {})", allowed.by)),
      together, allowed.with_swap};
}

}  // namespace

Result<Arena> map_tier_arena(const Tier& tier, Bytes bytes, const DeviceMemory* device) {
  if (tier.kind->map != nullptr) return tier.kind->map(tier, bytes);
  if (device != nullptr) return device->map(tier, bytes);
  return Error{ErrorCode::kUnsupported,
               fmt::format("tier '{}' is memory of a device, which the host does not map", tier.name)};
}

Result<TierStorages> TierStorages::open(const Machine& machine, std::span<const Bytes> arena_bytes,
                                        std::span<const Stitch> stitches, const DeviceMemory* device) {
  TierStorages all;
  SLUICE_RETURN_IF_ERROR(all.change(machine, arena_bytes, stitches, device));
  return all;
}

Status TierStorages::change(const Machine& machine, std::span<const Bytes> arena_bytes,
                            std::span<const Stitch> stitches, const DeviceMemory* device) {
  SLUICE_RETURN_IF_ERROR(check_host_memory(machine, arena_bytes));
  const std::vector<bool> staying = kept(arena_bytes, stitches);
  give_back(staying);
  storages_.resize(machine.tiers.size());
  for (std::size_t i = 0; i < machine.tiers.size(); ++i) {
    if (i < staying.size() && staying[i]) continue;
    const Tier& tier = machine.tiers[i];
    const Bytes bytes = i < arena_bytes.size() ? arena_bytes[i] : 0;
    Storage& storage = storages_[i] = {tier.name, tier.kind->host_reaches ? nullptr : device, {}, nullptr};
    storage.stitched = i == kFastTier && !stitches.empty();
    if (storage.stitched) {
      SLUICE_ASSIGN(storage.arena, Arena::map_stitched(bytes, stitches, tier.name));
    } else if (!tier.kind->in_file) {
      SLUICE_ASSIGN(storage.arena, map_tier_arena(tier, bytes, device));
    } else if (bytes > 0) {
      SLUICE_ASSIGN(SpillFile file, SpillFile::open(tier.path, bytes));
      storage.file = std::make_unique<SpillFile>(std::move(file));
    }
  }
  return {};
}

std::vector<bool> TierStorages::kept(std::span<const Bytes> arena_bytes, std::span<const Stitch> stitches) const {
  std::vector<bool> kept;
  for (std::size_t i = 0; i < storages_.size(); ++i) {
    const bool stitched = storages_[i].stitched || (i == kFastTier && !stitches.empty());
    const Bytes wanted = i < arena_bytes.size() ? align_down(arena_bytes[i], kBlockAlignment) : 0;
    kept.push_back(!stitched && bytes(as_id<TierId>(i)) >= wanted);
  }
  return kept;
}

// What is mapped twice is counted twice as long as it is there (process_memory.hpp).
void TierStorages::give_back(const std::vector<bool>& kept) {
  const bool stitched = std::ranges::any_of(storages_, &Storage::stitched);
  if (stitched) keep_peak_resident();
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) storages_[i] = {storages_[i].name, storages_[i].device, {}, nullptr};
  }
  if (stitched) count_peak_anew();
}

std::byte* TierStorages::base(TierId tier) const { return storage(tier).arena.data(); }

Bytes TierStorages::bytes(TierId tier) const {
  const Storage& each = storage(tier);
  return each.file ? each.file->bytes() : each.arena.bytes();
}

const SpillFile* TierStorages::file(TierId tier) const { return storage(tier).file.get(); }

Status TierStorages::check_range(TierId tier, Bytes offset, std::size_t size) const {
  const auto wanted = static_cast<Bytes>(size);
  if (offset >= 0 && wanted <= bytes(tier) - offset) return {};
  return Error{ErrorCode::kBadInput,
               fmt::format("{} at offset {} is outside tier '{}', which has {}", format_bytes(wanted), offset,
                           storage(tier).name, format_bytes(bytes(tier)))};
}

Status TierStorages::read(TierId tier, Bytes offset, std::span<std::byte> into) const {
  SLUICE_RETURN_IF_ERROR(check_range(tier, offset, into.size()));
  if (const SpillFile* spill = file(tier)) return spill->read(offset, into);
  if (const DeviceMemory* device = storage(tier).device) {
    return device->copy(into.data(), base(tier) + offset, into.size());
  }
  if (!into.empty()) std::memcpy(into.data(), base(tier) + offset, into.size());
  return {};
}

Status TierStorages::write(TierId tier, Bytes offset, std::span<const std::byte> from) const {
  SLUICE_RETURN_IF_ERROR(check_range(tier, offset, from.size()));
  if (const SpillFile* spill = file(tier)) return spill->write(offset, from);
  if (const DeviceMemory* device = storage(tier).device) {
    return device->copy(base(tier) + offset, from.data(), from.size());
  }
  if (!from.empty()) std::memcpy(base(tier) + offset, from.data(), from.size());
  return {};
}

void TierStorages::prefault(TierId tier, int threads) const { storage(tier).arena.prefault(threads); }

std::vector<std::string> TierStorages::notes() const {
  std::vector<std::string> all;
  for (const Storage& each : storages_) {
    append(each.arena.notes(), all);
    if (each.file) append(each.file->notes(), all);
  }
  return all;
}

}  // namespace sluice::memory
