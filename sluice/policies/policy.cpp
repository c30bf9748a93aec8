#include "sluice/policies/policy.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::policies {
namespace {

constexpr Bytes kSmallestPage = 4 * kKiB;  // the processor's; a cache's lines may be smaller

}  // namespace

profile::MemoryTraffic Access::traffic_of(Bytes part) const {
  const auto of_part = static_cast<double>(part);
  if (!traffic) return {.read = reads ? of_part : 0, .written = writes ? of_part : 0};
  const double share = of_part / static_cast<double>(std::max<Bytes>(1, bytes.length()));
  return {share * traffic->read, share * traffic->written, share * traffic->scattered};
}

AccessCharge& AccessCharge::operator+=(const AccessCharge& other) {
  requested += other.requested;
  found_fast += other.found_fast;
  operands += other.operands;
  operands_found += other.operands_found;
  slow_read += other.slow_read;
  slow_written += other.slow_written;
  slow_scattered += other.slow_scattered;
  extra_read += other.extra_read;
  extra_written += other.extra_written;
  filled += other.filled;
  copied_in += other.copied_in;
  copied_out += other.copied_out;
  fault_seconds += other.fault_seconds;
  return *this;
}

void AccessCharge::add_operand(Bytes bytes, Bytes found) {
  requested += bytes;
  found_fast += found;
  ++operands;
  if (found == bytes) ++operands_found;
}

void AccessCharge::add_slow(const profile::MemoryTraffic& traffic) {
  slow_read += static_cast<Bytes>(traffic.read);
  slow_written += static_cast<Bytes>(traffic.written);
  slow_scattered += traffic.scattered;
}

void Policy::expect(std::span<const Access> /*upcoming*/, Seconds /*now*/) {}

BackgroundWork Policy::advance(Seconds /*from*/, Seconds /*to*/) { return {}; }

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
  if (memory.fast_bytes < tuning.page_bytes) {
    return Error{ErrorCode::kInfeasible,
                 fmt::format("policy {} has {} of fast memory, less than one page of {}: raise --fast", entry.name,
                             format_bytes(memory.fast_bytes), format_bytes(tuning.page_bytes)),
                 tuning.page_bytes, memory.fast_bytes};
  }
  return entry.pages->make(memory, tuning);
}

Result<PolicyTiers> find_policy_tiers(const PolicyEntry& entry, const memory::Machine& machine) {
  SLUICE_CHECK(entry.pages.has_value(), "a policy over pages");
  if (machine.tiers.size() < 2) {
    return Error{
        ErrorCode::kBadInput,
        fmt::format("policy {} needs a slow tier and this machine has none; name one with --slow", entry.name)};
  }
  if (machine.tiers.size() > 2) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("policy {} has one slow tier and this machine has {}; name one with --slow", entry.name,
                             machine.tiers.size() - 1)};
  }
  const auto inward = machine.link_between(1, memory::kFastTier);
  const auto outward = machine.link_between(memory::kFastTier, 1);
  if (!inward || !outward) {
    return Error{ErrorCode::kBadInput, fmt::format("policy {} needs links both ways between tiers '{}' and '{}'",
                                                   entry.name, machine.tier(0).name, machine.tier(1).name)};
  }
  if (entry.pages->addressable && !machine.tier(1).addressable) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("policy {} leaves data in slow memory to be used in place, and ops cannot address tier "
                             "'{}'; use a tier they can (--slow optane or --slow pmbd), or policy um",
                             entry.name, machine.tier(1).name)};
  }
  return PolicyTiers{.slow = 1, .inward = *inward, .outward = *outward};
}

PolicyMemory policy_memory(const memory::Machine& machine, const PolicyTiers& tiers, Bytes fast_bytes, Bytes bytes) {
  return {.fast_bytes = fast_bytes,
          .address_bytes = bytes,
          .bandwidth_in = machine.link(tiers.inward).bandwidth,
          .bandwidth_out = machine.link(tiers.outward).bandwidth};
}

}  // namespace sluice::policies
