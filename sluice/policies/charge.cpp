#include "sluice/policies/charge.hpp"

#include <algorithm>

#include "sluice/profile/cost_model.hpp"

namespace sluice {
namespace {

Seconds copy_seconds(Bytes bytes, BytesPerSecond bandwidth) {
  return bandwidth > 0 ? static_cast<Seconds>(bytes) / bandwidth : 0;
}

BytesPerSecond while_both_busy(const Link& link) {
  return link.shared_bandwidth > 0 ? std::min(link.shared_bandwidth, link.bandwidth) : link.bandwidth;
}

}  // namespace

Seconds slow_seconds(const Machine& machine, TierId slow, const AccessCharge& charge) {
  const SlowByteSeconds instead = slow_byte_seconds(machine, slow);
  const Tier& tier = machine.tier(slow);
  return static_cast<Seconds>(charge.slow_read) * instead.read +
         static_cast<Seconds>(charge.slow_written) * instead.write +
         copy_seconds(charge.extra_read, tier.read_bandwidth) +
         copy_seconds(charge.extra_written, tier.write_bandwidth) +
         copy_seconds(charge.filled, machine.tier(kFastTier).write_bandwidth);
}

Seconds wait_seconds(const Machine& machine, const PolicyTiers& tiers, const AccessCharge& charge) {
  const Link& inward = machine.link(tiers.inward);
  const Link& outward = machine.link(tiers.outward);
  const Seconds in = copy_seconds(charge.copied_in, while_both_busy(inward));
  const Seconds out = copy_seconds(charge.copied_out, while_both_busy(outward));
  const Seconds together = std::min(in, out);
  // What is left of the longer one goes at that link's full speed.
  const Link& longer = in > out ? inward : outward;
  const double speed_up = longer.bandwidth > 0 ? while_both_busy(longer) / longer.bandwidth : 1;
  return together + (std::max(in, out) - together) * speed_up + charge.fault_seconds;
}

Seconds lost_seconds(const Machine& machine, const PolicyTiers& tiers, const BackgroundWork& work) {
  return static_cast<Seconds>(work.in) * machine.link(tiers.inward).interference +
         static_cast<Seconds>(work.out) * machine.link(tiers.outward).interference;
}

}  // namespace sluice
