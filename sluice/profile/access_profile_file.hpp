// Access profiles as JSON files.
//
//   {"version": 1, "graph_fingerprint": "...", "compute_fingerprint": "...", "method": "page protection",
//    "tlb_reach": 12582912, "largest_chunk": 65536, "normal_step": 0.17, "profiled_step": 0.6,
//    "provenance": "measured", "notes": ["..."],
//    "ops": [[[tensor, reads, writes], ...], ...]}          by OpIndex, counts in pages of 4 KiB
//
// The same object may lie in a saved profile (profile_file.hpp) as its "accesses", so that one file has all that was
// measured of a model.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sluice/base/result.hpp"
#include "sluice/profile/access_profile.hpp"

namespace sluice::profile {

nlohmann::json access_profile_to_json(const AccessProfile& profile);
Status write_access_profile(const std::filesystem::path& path, const AccessProfile& profile);

// The profile of this graph on this machine, from a file of its own, a saved profile or the JSON result of `sluice
// profile`. kIo for a file that cannot be read, kBadInput for one that is damaged or has no access counts, kMismatch
// for one of another graph or machine, saying which.
Result<AccessProfile> read_access_profile(const std::filesystem::path& path, const graph::Graph& graph,
                                          const memory::Machine& machine);

}  // namespace sluice::profile
