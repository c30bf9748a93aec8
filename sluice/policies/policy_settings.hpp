// A policy as the user writes it: its name, and the settings that differ from its defaults.
//
//   ial                          as it is
//   ial:period=0.02              a pass every 20 ms
//   um:page=2MiB:fault=0.00005   pages of 2 MiB, 50 us a fault
//
// Settings are members of PolicyTuning: page, fault-bytes (sizes), period, fault, migration (seconds), threads, concurrent
// (counts).
#pragma once

#include <variant>

#include "sluice/base/settings.hpp"
#include "sluice/policies/policy.hpp"

namespace sluice::policies {

// A policy over pages, and what it was given.
struct ChosenPages {
  const PolicyEntry* entry = nullptr;
  PolicyTuning tuning;   // the entry's defaults and the settings; make_policy() checks whether it makes sense
  Bytes fast_bytes = 0;  // the fast memory that it may use
};

// dtr (dtr/dtr.hpp), which has no settings.
struct ChosenDtr {
  Bytes fast_bytes = 0;  // all that the step has
};

// A policy's name and settings, resolved.
using ChosenPolicy = std::variant<ChosenPages, ChosenDtr>;

// Reads a text. kBadInput for an unknown policy or setting, or a value that cannot be read or is out of range.
Result<ChosenPolicy> choose_policy(std::string_view text, Bytes fast_bytes);
// The same where only pages will do: kBadInput for dtr too.
Result<ChosenPages> choose_pages(std::string_view text, Bytes fast_bytes);

// find_policy() of the part ahead of the settings, and whether there is one.
const PolicyEntry* find_policy_of(std::string_view text);
bool names_policy(std::string_view text);
std::vector<std::string_view> known_policies();

// Of PolicyTuning: what may be set of any policy over pages. Each has defaults of its own and ignores what it has no use
// for.
const Settings& policy_settings();

}  // namespace sluice::policies
