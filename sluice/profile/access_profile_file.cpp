#include "sluice/profile/access_profile_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

#include "sluice/base/atomic_file.hpp"
#include "sluice/graph/liveness.hpp"

namespace sluice {
namespace {

using nlohmann::json;

constexpr int kAccessFormatVersion = 1;

json touches_to_json(const AccessProfile& profile) {
  json ops = json::array();
  for (const std::vector<TensorTouches>& operands : profile.ops) {
    json& op = ops.emplace_back(json::array());
    for (const TensorTouches& touches : operands) op.push_back({touches.tensor, touches.reads, touches.writes});
  }
  return ops;
}

void require(bool condition, const char* what) {
  if (!condition) throw std::invalid_argument(what);
}

// Throws when the counts are not those of the graph's ops.
std::vector<std::vector<TensorTouches>> touches_from_json(const json& document, const Graph& graph) {
  require(document.size() == graph.ops().size(), "another number of ops");
  std::vector<std::vector<TensorTouches>> ops;
  for (const json& op : document) {
    const std::vector<TensorId> operands = distinct_operands(graph.op(static_cast<OpIndex>(ops.size())));
    auto& touches = ops.emplace_back();
    for (const json& entry : op) {
      const auto [tensor, reads, writes] = entry.get<std::array<std::int64_t, 3>>();
      require(std::ranges::find(operands, tensor) != operands.end(), "a count of a tensor that its op does not use");
      require(reads >= 0 && writes >= 0, "a count below 0");
      touches.push_back({static_cast<TensorId>(tensor), reads, writes});
    }
  }
  return ops;
}

AccessProfile profile_from_json(const json& document, const Graph& graph) {
  AccessProfile profile;
  document.at("method").get_to(profile.method);
  document.at("tlb_reach").get_to(profile.tlb_reach);
  document.at("largest_chunk").get_to(profile.largest_chunk);
  document.at("normal_step").get_to(profile.normal_step);
  document.at("profiled_step").get_to(profile.profiled_step);
  document.at("notes").get_to(profile.notes);
  require(profile.tlb_reach > 0 && profile.largest_chunk >= kPageBytes, "a size below a page");
  for (const Seconds seconds : {profile.normal_step, profile.profiled_step}) {
    require(std::isfinite(seconds) && seconds >= 0, "a negative or infinite time");
  }
  profile.ops = touches_from_json(document.at("ops"), graph);
  return profile;
}

// An access profile by itself, or the one in a saved profile or in the JSON result of `sluice profile`. nullptr: none.
const json* counts_in(const json& document) {
  if (!document.is_object()) return nullptr;
  if (document.contains("tlb_reach")) return &document;
  if (!document.contains("accesses")) return nullptr;
  const json& accesses = document.at("accesses");
  return accesses.is_object() && accesses.contains("profile") ? &accesses.at("profile") : &accesses;
}

Status check_origin(const std::filesystem::path& path, const std::string& found, const std::string& wanted,
                    std::string_view what) {
  if (found == wanted) return {};
  return Error{ErrorCode::kMismatch,
               fmt::format("the access profile {} is of another {} ({}, wanted {}): measure again, or remove the file",
                           path.string(), what, found, wanted)};
}

}  // namespace

nlohmann::json access_profile_to_json(const AccessProfile& profile) {
  return {{"version", kAccessFormatVersion},
          {"graph_fingerprint", profile.graph_fingerprint},
          {"compute_fingerprint", profile.compute_fingerprint},
          {"method", profile.method},
          {"tlb_reach", profile.tlb_reach},
          {"largest_chunk", profile.largest_chunk},
          {"normal_step", profile.normal_step},
          {"profiled_step", profile.profiled_step},
          {"provenance", to_string(profile.provenance)},
          {"notes", profile.notes},
          {"ops", touches_to_json(profile)}};
}

Status write_access_profile(const std::filesystem::path& path, const AccessProfile& profile) {
  std::error_code shows_when_written;
  std::filesystem::create_directories(path.parent_path(), shows_when_written);
  return write_file(path, access_profile_to_json(profile).dump(1) + "\n");
}

Result<AccessProfile> read_access_profile(const std::filesystem::path& path, const Graph& graph,
                                          const Machine& machine) {
  std::ifstream file(path);
  if (!file) return Error{ErrorCode::kIo, fmt::format("cannot read the access profile {}", path.string())};
  try {
    const json whole = json::parse(file);
    const json* const counts = counts_in(whole);
    if (counts == nullptr) {
      return Error{
          ErrorCode::kBadInput,
          fmt::format("{} holds no access counts, by which planners such as sentinel order tensors: count them "
                      "with sluice profile, the model's options and --accesses --save FILE, or leave it out",
                      path.string())};
    }
    const json& document = *counts;
    if (document.at("version").get<int>() != kAccessFormatVersion)
      throw std::invalid_argument("another format version");
    const auto graph_fingerprint = document.at("graph_fingerprint").get<std::string>();
    const auto compute_fingerprint = document.at("compute_fingerprint").get<std::string>();
    SLUICE_RETURN_IF_ERROR(check_origin(path, graph_fingerprint, graph.fingerprint(), "model, batch or setting"));
    SLUICE_RETURN_IF_ERROR(check_origin(path, compute_fingerprint, machine.compute_fingerprint(), "machine"));
    AccessProfile profile = profile_from_json(document, graph);
    profile.graph_fingerprint = graph_fingerprint;
    profile.compute_fingerprint = compute_fingerprint;
    return profile;
  } catch (const std::exception& error) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("{} is damaged or no access profile ({}): remove it", path.string(), error.what())};
  }
}

}  // namespace sluice
