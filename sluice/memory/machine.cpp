#include "sluice/memory/machine.hpp"

#include "sluice/base/hash.hpp"

namespace sluice {

std::optional<LinkId> Machine::link_between(TierId from, TierId to) const {
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i].from == from && links[i].to == to) return static_cast<LinkId>(i);
  }
  return std::nullopt;
}

std::string Machine::compute_fingerprint() const { return Hasher().add(cpu).add(std::int64_t{threads}).hex(); }

std::string Machine::fingerprint() const {
  Hasher hasher;
  hasher.add(compute_fingerprint()).add(static_cast<std::int64_t>(tiers.size()));
  for (const Tier& each : tiers) {
    hasher.add(to_string(each.kind)).add(std::int64_t{each.addressable});
  }
  return hasher.hex();
}

std::string_view to_string(TierKind kind) {
  switch (kind) {
    case TierKind::kDram:
      return "dram";
    case TierKind::kFile:
      return "file";
    case TierKind::kEmulated:
      return "emulated";
    case TierKind::kNuma:
      return "numa";
  }
  return "unknown";
}

std::string_view to_string(CopiedBy copied_by) {
  switch (copied_by) {
    case CopiedBy::kProcessor:
      return "processor";
    case CopiedBy::kDma:
      return "dma";
  }
  return "unknown";
}

std::string_view to_string(Provenance provenance) {
  switch (provenance) {
    case Provenance::kGiven:
      return "given";
    case Provenance::kMeasured:
      return "measured";
    case Provenance::kEmulated:
      return "emulated";
    case Provenance::kFirmware:
      return "firmware";
  }
  return "unknown";
}

}  // namespace sluice
