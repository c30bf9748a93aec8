#include "sluice/policies/charge.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::policies {
namespace {

Seconds copy_seconds(Bytes bytes, BytesPerSecond bandwidth) {
  return bandwidth > 0 ? static_cast<Seconds>(bytes) / bandwidth : 0;
}

BytesPerSecond while_both_busy(const memory::Link& link) {
  return link.shared_bandwidth > 0 ? std::min(link.shared_bandwidth, link.bandwidth) : link.bandwidth;
}

// Both ways between two tiers.
Seconds pair_seconds(const memory::Link& inward, Bytes bytes_in, const memory::Link& outward, Bytes bytes_out) {
  const Seconds in = copy_seconds(bytes_in, while_both_busy(inward));
  const Seconds out = copy_seconds(bytes_out, while_both_busy(outward));
  const Seconds together = std::min(in, out);
  // What is left of the longer one goes at that link's full speed.
  const memory::Link& longer = in > out ? inward : outward;
  const double speed_up = longer.bandwidth > 0 ? while_both_busy(longer) / longer.bandwidth : 1;
  return together + (std::max(in, out) - together) * speed_up;
}

}  // namespace

profile::MemorySeconds slow_seconds(const memory::Machine& machine, const AccessCharge& charge) {
  const memory::Tier& fast = machine.tier(memory::kFastTier);
  profile::MemorySeconds seconds;
  for (std::size_t tier = 1; tier < charge.slow.size(); ++tier) {
    const SlowTraffic& slow = charge.slow[tier];
    const profile::MemoryTraffic traffic{.read = static_cast<double>(slow.read + slow.extra_read),
                                         .written = static_cast<double>(slow.written + slow.extra_written),
                                         .scattered = slow.scattered};
    seconds += profile::memory_seconds(machine.tiers[tier], fast, machine.threads, traffic);
  }
  seconds.writing += copy_seconds(charge.filled, fast.write_bandwidth);
  return seconds;
}

Seconds wait_seconds(const memory::Machine& machine, std::span<const Bytes> link_bytes, Seconds fault_seconds) {
  Seconds longest = 0;
  for (std::size_t link = 0; link < link_bytes.size(); ++link) {
    const memory::Link& inward = machine.links[link];
    const auto back = machine.link_back(as_id<memory::LinkId>(link));
    if (inward.from < inward.to || !back) continue;  // each pair once
    longest =
        std::max(longest, pair_seconds(inward, link_bytes[link], machine.link(*back), link_bytes[as_index(*back)]));
  }
  return longest + fault_seconds;
}

Seconds lost_seconds(const memory::Machine& machine, std::span<const Bytes> link_bytes) {
  Seconds lost = 0;
  for (std::size_t link = 0; link < link_bytes.size(); ++link) {
    lost += static_cast<Seconds>(link_bytes[link]) * machine.links[link].interference;
  }
  return lost;
}

}  // namespace sluice::policies
