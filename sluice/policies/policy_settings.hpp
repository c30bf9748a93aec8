// A policy as the user writes it: its name, and what is to differ from its defaults.
//
//   ial                          as it is
//   ial:period=0.02              a pass every 20 ms
//   um:page=2MiB:fault=0.00005   pages of 2 MiB, 50 us a fault
//
// Settings: page, fault-bytes (sizes), period, fault, migration (seconds), threads, concurrent (counts).
#pragma once

#include "sluice/plan/plan.hpp"
#include "sluice/policies/policy.hpp"

namespace sluice {

// find_policy() of the part ahead of the settings.
const PolicyEntry* find_policy_of(std::string_view text);

// Text as a request for `fast_bytes` of fast memory. kBadInput for a policy, setting or value that there is not.
Result<PolicyRequest> parse_policy(std::string_view text, Bytes fast_bytes);

struct ChosenPolicy {
  const PolicyEntry* entry = nullptr;
  PolicyTuning tuning;
};

// kBadInput, with the place in the plan ("/policy/settings/0/name"), for a policy, setting or value that there is not:
// a request may come from a plan file. Whether a value makes sense, make_policy() says.
Result<ChosenPolicy> choose_policy(const PolicyRequest& request);

}  // namespace sluice
