#include "sluice/profile/profile_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace sluice {
namespace {

using nlohmann::json;

constexpr const char* kFormatName = "sluice-profile";

std::string describe_machine(const std::string& cpu, int threads) {
  return fmt::format("{} with {} compute thread{}", cpu, threads, threads == 1 ? "" : "s");
}

json times_to_json(const Graph& graph, const Profile& profile) {
  json ops = json::array();
  for (OpIndex index = 0; index < graph.op_count(); ++index) {
    const auto at = static_cast<std::size_t>(index);
    json entry = {{"op", graph.op(index).name}, {"seconds", profile.op_seconds.at(at)}};
    if (!profile.cold_seconds.empty()) entry["cold_seconds"] = profile.cold_seconds.at(at);
    ops.push_back(std::move(entry));
  }
  return ops;
}

// The machine first: it decides about layouts, so that a graph made elsewhere is another one.
Status check_document(const json& document, const Graph& graph, const Machine& machine) {
  if (!document.is_object() || document.value("format", "") != kFormatName) {
    return Error{ErrorCode::kBadInput, fmt::format("not a saved profile: \"format\" is not \"{}\"", kFormatName)};
  }
  if (const int version = document.at("version").get<int>(); version != kProfileFormatVersion) {
    return Error{ErrorCode::kBadInput, fmt::format("its format version is {}, this sluice reads {}: save it again",
                                                   version, kProfileFormatVersion)};
  }
  const json& made_on = document.at("machine");
  if (made_on.at("fingerprint").get<std::string>() != machine.compute_fingerprint()) {
    return Error{ErrorCode::kMismatch,
                 fmt::format("measured on {}; this is {}: measure one here with sluice profile, or set --threads",
                             describe_machine(made_on.at("cpu").get<std::string>(), made_on.at("threads").get<int>()),
                             describe_machine(machine.cpu, machine.threads))};
  }
  if (document.at("graph").at("fingerprint").get<std::string>() != graph.fingerprint()) {
    return Error{
        ErrorCode::kMismatch,
        fmt::format("made for another graph, of {} with {} ops; this is {} with {} ops (a model's options, its "
                    "batch size and the version of sluice are part of it): measure one with sluice profile",
                    document.at("graph").at("name").get<std::string>(), document.at("ops").size(), graph.name,
                    graph.op_count())};
  }
  return {};
}

void read_times(const json& ops, Profile& profile) {
  for (const json& entry : ops) {
    profile.op_seconds.push_back(entry.at("seconds").get<Seconds>());
    check_figure(profile.op_seconds.back());
    if (!entry.contains("cold_seconds")) continue;
    profile.cold_seconds.push_back(entry.at("cold_seconds").get<Seconds>());
    check_figure(profile.cold_seconds.back());
  }
}

std::shared_ptr<const PlacementTimes> placement_from_json(const json& entry, std::size_t op_count) {
  auto times = std::make_shared<PlacementTimes>();
  entry.at("tier").get_to(times->tier);
  entry.at("emulated").get_to(times->emulated);
  entry.at("configurations").get_to(times->distinct);
  entry.at("by_op").get_to(times->index);
  for (const OpConfigurations& configurations : times->distinct) check_configurations(configurations);
  const auto known = static_cast<std::int32_t>(times->distinct.size());
  const auto sound = [&](std::int32_t index) { return index >= -1 && index < known; };
  if (times->index.size() != op_count || !std::ranges::all_of(times->index, sound)) {
    throw std::invalid_argument("times by placement that belong to no op");
  }
  return times;
}

Result<Profile> read_document(const json& document, const Graph& graph, const Machine& machine) {
  SLUICE_RETURN_IF_ERROR(check_document(document, graph, machine));
  Profile profile;
  profile.graph_fingerprint = graph.fingerprint();
  profile.compute_fingerprint = machine.compute_fingerprint();
  profile.distinct_ops = document.at("distinct_ops").get<int>();
  read_times(document.at("ops"), profile);
  const auto op_count = static_cast<std::size_t>(graph.op_count());
  if (profile.op_seconds.size() != op_count ||
      (!profile.cold_seconds.empty() && profile.cold_seconds.size() != op_count)) {
    throw std::invalid_argument(
        fmt::format("times of {} ops where the graph has {}", profile.op_seconds.size(), op_count));
  }
  for (const json& entry : document.at("placements")) {
    profile.placements.push_back(placement_from_json(entry, op_count));
  }
  return profile;
}

}  // namespace

json profile_to_json(const Graph& graph, const Machine& machine, const Profile& profile) {
  json placements = json::array();
  for (const auto& times : profile.placements) {
    placements.push_back({{"tier", times->tier},
                          {"emulated", times->emulated},
                          {"configurations", times->distinct},
                          {"by_op", times->index}});
  }
  return {
      {"format", kFormatName},
      {"version", kProfileFormatVersion},
      {"graph", {{"name", graph.name}, {"fingerprint", profile.graph_fingerprint}}},
      {"machine", {{"cpu", machine.cpu}, {"threads", machine.threads}, {"fingerprint", profile.compute_fingerprint}}},
      {"provenance", to_string(profile.provenance)},
      {"distinct_ops", profile.distinct_ops},
      {"ops", times_to_json(graph, profile)},
      {"placements", placements},
  };
}

Result<Profile> profile_from_json(const json& document, const Graph& graph, const Machine& machine) {
  try {
    return read_document(document, graph, machine);
  } catch (const std::exception& wrong) {  // of the JSON library, or a figure that cannot be
    return Error{ErrorCode::kBadInput, fmt::format("not a sound profile ({}): save it again", wrong.what())};
  }
}

Result<Profile> read_profile(const std::filesystem::path& path, const Graph& graph, const Machine& machine) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || file.bad()) {
    return Error{ErrorCode::kIo, fmt::format("cannot read profile '{}': {}", path.string(), std::strerror(errno))};
  }
  const auto explain = [&](const std::string& reason) {
    return fmt::format("profile '{}': {}", path.string(), reason);
  };
  try {
    Result<Profile> profile = profile_from_json(json::parse(text.str()), graph, machine);
    if (profile.ok()) return profile;
    return Error{profile.error().code, explain(profile.error().message)};
  } catch (const json::parse_error& error) {
    return Error{ErrorCode::kBadInput,
                 explain(fmt::format("not JSON, or cut short at byte {}: save it again", error.byte))};
  }
}

}  // namespace sluice
