#include "sluice/policies/charge.hpp"

#include <algorithm>

namespace sluice::policies {
namespace {

Seconds copy_seconds(Bytes bytes, BytesPerSecond bandwidth) {
  return bandwidth > 0 ? static_cast<Seconds>(bytes) / bandwidth : 0;
}

BytesPerSecond while_both_busy(const memory::Link& link) {
  return link.shared_bandwidth > 0 ? std::min(link.shared_bandwidth, link.bandwidth) : link.bandwidth;
}

}  // namespace

profile::MemorySeconds slow_seconds(const memory::Machine& machine, memory::TierId slow, const AccessCharge& charge) {
  const memory::Tier& fast = machine.tier(memory::kFastTier);
  const profile::MemoryTraffic traffic{.read = static_cast<double>(charge.slow_read + charge.extra_read),
                                       .written = static_cast<double>(charge.slow_written + charge.extra_written),
                                       .scattered = charge.slow_scattered};
  profile::MemorySeconds seconds = profile::memory_seconds(machine.tier(slow), fast, machine.threads, traffic);
  seconds.writing += copy_seconds(charge.filled, fast.write_bandwidth);
  return seconds;
}

Seconds wait_seconds(const memory::Machine& machine, const PolicyTiers& tiers, const AccessCharge& charge) {
  const memory::Link& inward = machine.link(tiers.inward);
  const memory::Link& outward = machine.link(tiers.outward);
  const Seconds in = copy_seconds(charge.copied_in, while_both_busy(inward));
  const Seconds out = copy_seconds(charge.copied_out, while_both_busy(outward));
  const Seconds together = std::min(in, out);
  // What is left of the longer one goes at that link's full speed.
  const memory::Link& longer = in > out ? inward : outward;
  const double speed_up = longer.bandwidth > 0 ? while_both_busy(longer) / longer.bandwidth : 1;
  return together + (std::max(in, out) - together) * speed_up + charge.fault_seconds;
}

Seconds lost_seconds(const memory::Machine& machine, const PolicyTiers& tiers, const BackgroundWork& work) {
  return static_cast<Seconds>(work.in) * machine.link(tiers.inward).interference +
         static_cast<Seconds>(work.out) * machine.link(tiers.outward).interference;
}

}  // namespace sluice::policies
