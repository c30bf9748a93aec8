// A policy as the user writes it: its name, and what is to differ from its defaults.
//
//   ial                          as it is
//   ial:period=0.02              a pass every 20 ms
//   um:page=2MiB:fault=0.00005   pages of 2 MiB, 50 us a fault
//
// Settings: page, fault-bytes (sizes), period, fault, migration (seconds), threads, concurrent (counts).
#pragma once

#include "sluice/policies/policy.hpp"

namespace sluice {

// find_policy() of the part ahead of the settings.
const PolicyEntry* find_policy_of(std::string_view text);

struct ChosenPolicy {
  const PolicyEntry* entry = nullptr;
  PolicyTuning tuning;
};

// kBadInput for a policy, setting or value that there is not. Whether a value makes sense, make_policy() says.
Result<ChosenPolicy> choose_policy(std::string_view text);

}  // namespace sluice
