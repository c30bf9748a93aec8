#include "sluice/memory/machine.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/base/hash.hpp"

namespace sluice::memory {

std::optional<LinkId> Machine::link_between(TierId from, TierId to) const {
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i].from == from && links[i].to == to) return as_id<LinkId>(i);
  }
  return std::nullopt;
}

int Machine::threads_of(ProcessorId id) const {
  return processors.empty() ? threads : processors.at(as_index(id)).threads;
}

bool Machine::addresses(ProcessorId id, TierId tier) const {
  if (processors.empty() || processors.at(as_index(id)).tiers.empty()) {
    return this->tier(tier).addressable;
  }
  return lists(id, tier);
}

bool Machine::lists(ProcessorId id, TierId tier) const {
  if (processors.empty()) return false;
  const std::vector<TierId>& own = processors.at(as_index(id)).tiers;
  return std::ranges::find(own, tier) != own.end();
}

bool Machine::owns(ProcessorId id, TierId tier) const { return !this->tier(tier).addressable && lists(id, tier); }

std::string Machine::compute_fingerprint() const { return Hasher().add(cpu).add(std::int64_t{threads}).hex(); }

std::string Machine::fingerprint() const {
  Hasher hasher;
  hasher.add(compute_fingerprint()).add(std::ssize(tiers));
  for (const Tier& each : tiers) {
    hasher.add(to_string(each.kind)).add(std::int64_t{each.addressable});
  }
  for (const Processor& each : processors) {
    hasher.add(std::int64_t{each.threads}).add(std::string_view(each.backend));
    hasher.add(std::ssize(each.tiers));
    for (const TierId tier : each.tiers) hasher.add(std::int64_t{tier});
  }
  return hasher.hex();
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

}  // namespace sluice::memory
