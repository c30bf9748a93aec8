// A policy as the user writes it: its name, and the settings that differ from its defaults.
//
//   ial                          as it is
//   ial:period=0.02              a pass every 20 ms
//   um:page=2MiB:fault=0.00005   pages of 2 MiB, 50 us a fault
//
// Settings are members of PolicyTuning: page, fault-bytes (sizes), period, fault, migration (seconds), threads, concurrent
// (counts).
#pragma once

#include "sluice/base/settings.hpp"
#include "sluice/plan/plan.hpp"
#include "sluice/policies/policy.hpp"

namespace sluice::policies {

// Whether the part ahead of the settings is a policy, dtr among them.
bool names_policy(std::string_view text);
std::vector<std::string_view> known_policies();

// dtr decides over whole values of a step and sees no pages: simulators and executors of its own run it
// (policies/dtr/dtr.hpp), and find_policy() and choose_policy() do not know it.
bool is_dtr(const plan::PolicyRequest& request);

// find_policy() of the part ahead of the settings.
const PolicyEntry* find_policy_of(std::string_view text);

// Reads a text as a request for `fast_bytes` of fast memory. kBadInput for an unknown policy or setting, or a value
// that cannot be read. dtr has no settings.
Result<plan::PolicyRequest> parse_policy(std::string_view text, Bytes fast_bytes);

// Of PolicyTuning: what may be set of any policy but dtr. Each has defaults of its own and ignores what it has no use
// for; make_policy() checks what else makes sense.
const Settings& policy_settings();

struct ChosenPolicy {
  const PolicyEntry* entry = nullptr;
  PolicyTuning tuning;
};

// kBadInput, with the place in the plan ("/policy/settings/0/name"), for an unknown policy or setting, or a value out
// of range: a request may come from a plan file. make_policy() checks whether a value makes sense.
Result<ChosenPolicy> choose_policy(const plan::PolicyRequest& request);

}  // namespace sluice::policies
