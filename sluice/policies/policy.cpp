#include "sluice/policies/policy.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::policies {
namespace {

constexpr Bytes kSmallestPage = 4 * kKiB;  // the processor's; a cache's lines may be smaller

Status check_slow_tier(const PolicyEntry& entry, const memory::Machine& machine, memory::TierId slow) {
  const std::string& name = machine.tier(slow).name;
  if (!machine.link_between(slow, memory::kFastTier) || !machine.link_between(memory::kFastTier, slow)) {
    return Error{ErrorCode::kBadInput, fmt::format("policy {} needs links both ways between tiers '{}' and '{}'",
                                                   entry.name, machine.tier(memory::kFastTier).name, name)};
  }
  if (entry.pages->addressable && !machine.tier(slow).addressable) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("policy {} leaves data in slow memory to be used in place, and ops cannot address tier "
                             "'{}'; use a tier they can (--slow optane or --slow pmbd), or policy um",
                             entry.name, name)};
  }
  return {};
}

}  // namespace

profile::MemoryTraffic Access::traffic_of(Bytes part) const {
  const auto of_part = static_cast<double>(part);
  if (!traffic) return {.read = reads ? of_part : 0, .written = writes ? of_part : 0};
  const double share = of_part / static_cast<double>(std::max<Bytes>(1, bytes.length()));
  return {share * traffic->read, share * traffic->written, share * traffic->scattered};
}

SlowTraffic& SlowTraffic::operator+=(const SlowTraffic& other) {
  read += other.read;
  written += other.written;
  scattered += other.scattered;
  extra_read += other.extra_read;
  extra_written += other.extra_written;
  return *this;
}

AccessCharge& AccessCharge::operator+=(const AccessCharge& other) {
  requested += other.requested;
  found_fast += other.found_fast;
  operands += other.operands;
  operands_found += other.operands_found;
  for (std::size_t tier = 0; tier < other.slow.size(); ++tier) {
    slow_in(as_id<memory::TierId>(tier)) += other.slow[tier];
  }
  filled += other.filled;
  fault_seconds += other.fault_seconds;
  return *this;
}

void AccessCharge::add_operand(Bytes bytes, Bytes found) {
  requested += bytes;
  found_fast += found;
  ++operands;
  if (found == bytes) ++operands_found;
}

void AccessCharge::add_slow(memory::TierId tier, const profile::MemoryTraffic& traffic) {
  SlowTraffic& sum = slow_in(tier);
  sum.read += static_cast<Bytes>(traffic.read);
  sum.written += static_cast<Bytes>(traffic.written);
  sum.scattered += traffic.scattered;
}

SlowTraffic& AccessCharge::slow_in(memory::TierId tier) {
  if (slow.size() <= as_index(tier)) slow.resize(as_index(tier) + 1);
  return slow[as_index(tier)];
}

SlowTraffic AccessCharge::slow_in_all() const {
  SlowTraffic sum;
  for (const SlowTraffic& each : slow) sum += each;
  return sum;
}

BytesPerSecond PolicyMemory::bandwidth(memory::TierId from, memory::TierId to) const {
  const auto joins = [&](const memory::Link& link) { return link.from == from && link.to == to; };
  const auto link = std::ranges::find_if(links, joins);
  return link == links.end() ? 0 : link->bandwidth;
}

PolicyMemory two_tiers(Bytes fast_bytes, Bytes address_bytes, BytesPerSecond in, BytesPerSecond out) {
  return {.rooms = {fast_bytes, address_bytes},
          .address_bytes = address_bytes,
          .links = {{.from = kSlowTier, .to = memory::kFastTier, .bandwidth = in},
                    {.from = memory::kFastTier, .to = kSlowTier, .bandwidth = out}}};
}

void Policy::expect(std::span<const Access> /*upcoming*/, Seconds /*now*/) {}

void Policy::advance(Seconds /*from*/, Seconds /*to*/, memory::MoveList& /*moves*/) {}

std::vector<std::pair<std::string, double>> Policy::figures() const { return {}; }

const PolicyEntry* find_policy(std::string_view name) {
  const auto found = std::ranges::find(policies(), name, &PolicyEntry::name);
  return found == policies().end() ? nullptr : &*found;
}

Error unknown_policy(std::string_view name) {
  std::string known;
  for (const PolicyEntry& each : policies()) known += fmt::format("{}{}", known.empty() ? "" : ", ", each.name);
  return {ErrorCode::kBadInput, fmt::format("unknown policy '{}'; known policies: {}", name, known)};
}

Result<std::unique_ptr<Policy>> make_policy(const PolicyEntry& entry, const PolicyMemory& memory,
                                            const PolicyTuning& tuning) {
  SLUICE_CHECK(entry.pages.has_value(), "a policy over pages");
  const PolicyTuning& defaults = entry.pages->defaults;
  const bool passes = defaults.scan_period == 0 || tuning.scan_period > 0;
  const Bytes smallest_page = std::min(kSmallestPage, defaults.page_bytes);
  const bool sensible = tuning.page_bytes >= smallest_page && passes && tuning.copy_threads > 0 &&
                        tuning.copy_thread_bandwidth > 0 && tuning.concurrent_migrations > 0 &&
                        tuning.migration_seconds >= 0 && tuning.fault_seconds >= 0 && tuning.fault_bytes >= 0;
  if (!sensible) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("policy {}: pages must be of {} at least, scan period, copy threads, their bandwidth and "
                             "concurrent migrations above 0, times and bytes of faults not below",
                             entry.name, format_bytes(smallest_page))};
  }
  if (memory.fast_bytes() < tuning.page_bytes) {
    return Error{ErrorCode::kInfeasible,
                 fmt::format("policy {} has {} of fast memory, less than one page of {}: raise --fast", entry.name,
                             format_bytes(memory.fast_bytes()), format_bytes(tuning.page_bytes)),
                 tuning.page_bytes, memory.fast_bytes()};
  }
  return entry.pages->make(memory, tuning);
}

Status check_policy_tiers(const PolicyEntry& entry, const memory::Machine& machine) {
  SLUICE_CHECK(entry.pages.has_value(), "a policy over pages");
  if (machine.tiers.size() < 2) {
    return Error{
        ErrorCode::kBadInput,
        fmt::format("policy {} needs a slow tier and this machine has none; name one with --slow", entry.name)};
  }
  if (machine.tiers.size() > 2 && !entry.pages->several_slow_tiers) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("policy {} has one slow tier and this machine has {}; name one with --slow", entry.name,
                             machine.tiers.size() - 1)};
  }
  for (memory::TierId slow = 1; slow < as_id<memory::TierId>(machine.tiers.size()); ++slow) {
    SLUICE_RETURN_IF_ERROR(check_slow_tier(entry, machine, slow));
  }
  return {};
}

PolicyMemory policy_memory(const memory::Machine& machine, Bytes fast_bytes, Bytes bytes) {
  PolicyMemory memory{.rooms = {fast_bytes}, .address_bytes = bytes, .links = machine.links};
  for (std::size_t tier = 1; tier < machine.tiers.size(); ++tier) memory.rooms.push_back(machine.tiers[tier].capacity);
  return memory;
}

}  // namespace sluice::policies
