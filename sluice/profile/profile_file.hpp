// A profile as a file of its own: versioned JSON that can be kept, sent and planned with again (`sluice profile
// --save`).
//
// It holds the times of every op of one model on one machine, and times by placement where they were measured; link
// figures are the machine's. Reading refuses a profile of another graph or machine (kMismatch: what it was made for,
// what this is), and a file that is no profile, was cut short or holds what cannot be a time (kBadInput). Thread-safe.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sluice/base/result.hpp"
#include "sluice/profile/profile.hpp"

namespace sluice::profile {

inline constexpr int kProfileFormatVersion = 2;

nlohmann::json profile_to_json(const graph::Graph& graph, const memory::Machine& machine, const Profile& profile);
Result<Profile> profile_from_json(const nlohmann::json& document, const graph::Graph& graph,
                                  const memory::Machine& machine);

// The same of a file; errors name it.
Result<Profile> read_profile(const std::filesystem::path& path, const graph::Graph& graph,
                             const memory::Machine& machine);

}  // namespace sluice::profile
