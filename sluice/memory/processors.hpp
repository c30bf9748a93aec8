// Processors as a user names them: "device:1,host:1", or with the tiers that each may address, "device:1:dram,
// host:1:dram+optane", or with the backend whose kernels it runs, "device:1,host@reference:1".
//
// They are made of this host's cores, a few set aside for each, so that both really run at once with a team
// of threads each. What they stand for they are not: every output calls them emulated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::memory {

struct ProcessorRequest {
  std::string name;
  int threads = 1;
  std::vector<std::string> tiers = {};  // by name; none: every one that is addressable
  std::string backend{kDefaultBackend};
};

// The first one is the main processor. kBadInput for a name that is missing or there twice, or without threads.
Result<std::vector<ProcessorRequest>> parse_processors(std::string_view text);

// Of a machine whose tiers are there; its `threads` become the main processor's. Memory that a processor owns gets a link
// each way to every file behind it (a later tier): its bytes lie in DRAM, so the figures are those of the file's links to the
// fast tier. kBadInput for a tier that the machine has not, or that is not addressable.
Status add_processors(const std::vector<ProcessorRequest>& requests, Machine& machine);

// Such a link: neither end is the fast tier.
inline bool joins_slow_tiers(const Link& link) { return link.from != kFastTier && link.to != kFastTier; }
// With the figures that the machine has of the file's link to or from the fast tier.
Link link_of_owned_memory(const Machine& machine, TierId from, TierId to);

// "device (1 thread), host (1 thread), emulated"; empty for a machine with its CPU alone.
std::string describe_processors(const Machine& machine);

}  // namespace sluice::memory
