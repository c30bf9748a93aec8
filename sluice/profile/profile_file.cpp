#include "sluice/profile/profile_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sluice/base/format_version.hpp"
#include "sluice/base/json_file.hpp"
#include "sluice/base/json_reader.hpp"

namespace sluice::profile {
namespace {

using nlohmann::json;

constexpr const char* kFormatName = "sluice-profile";

std::string describe_machine(const memory::Machine& machine) {
  return fmt::format("{} with {} compute thread{}", machine.cpu, machine.threads, machine.threads == 1 ? "" : "s");
}

json times_to_json(const graph::Graph& graph, const Profile& profile) {
  json ops = json::array();
  for (graph::OpIndex index = 0; index < graph.op_count(); ++index) {
    json entry = {{"op", graph.op(index).name}, {"seconds", profile.op_seconds.at(index)}};
    if (!profile.cold_seconds.empty()) entry["cold_seconds"] = profile.cold_seconds.at(index);
    ops.push_back(std::move(entry));
  }
  return ops;
}

// Times by other implementations and on other processors; what is left out of a document is the graph's own choice.
json choices_to_json(const Profile& profile) {
  json choices = json::array();
  for (const auto& [choice, times] : profile.choices) {
    choices.push_back({{"implementation", choice.implementation},
                       {"processor", choice.processor},
                       {"seconds", times->warm},
                       {"cold_seconds", times->cold}});
  }
  return choices;
}

Status read_times_of_choice(const JsonReader& reader, std::size_t ops, Profile& profile) {
  graph::OpChoice choice;
  std::vector<Seconds> warm;
  std::vector<Seconds> cold;
  SLUICE_RETURN_IF_ERROR(reader.read("implementation", choice.implementation));
  SLUICE_RETURN_IF_ERROR(reader.read("processor", choice.processor));
  SLUICE_RETURN_IF_ERROR(reader.read("seconds", warm));
  SLUICE_RETURN_IF_ERROR(reader.read("cold_seconds", cold));
  const auto sound = [](Seconds seconds) { return seconds >= 0 && std::isfinite(seconds); };
  if (warm.size() != ops || !std::ranges::all_of(warm, sound)) {
    return reader.error("seconds", fmt::format("expected the times of {} ops", ops));
  }
  if (!cold.empty() && (cold.size() != ops || !std::ranges::all_of(cold, sound))) {
    return reader.error("cold_seconds", fmt::format("expected the times of {} ops, or none", ops));
  }
  profile.choices[choice] = std::make_shared<const OpTimes>(OpTimes{std::move(warm), std::move(cold)});
  return {};
}

// Profiles saved without them have none.
Status read_choices(const JsonReader& document, const graph::Graph& graph, Profile& profile) {
  if (!document.has("choices")) return {};
  SLUICE_ASSIGN(const std::vector<JsonReader> choices, document.list("choices"));
  for (const JsonReader& each : choices) {
    SLUICE_RETURN_IF_ERROR(read_times_of_choice(each, graph.ops().size(), profile));
  }
  return {};
}

Status check_machine(const JsonReader& document, const memory::Machine& machine) {
  memory::Machine origin;
  std::string fingerprint;
  SLUICE_ASSIGN(const JsonReader made_on, document.object("machine"));
  SLUICE_RETURN_IF_ERROR(made_on.read("fingerprint", fingerprint));
  SLUICE_RETURN_IF_ERROR(made_on.read("cpu", origin.cpu));
  SLUICE_RETURN_IF_ERROR(made_on.read("threads", origin.threads));
  if (fingerprint == machine.compute_fingerprint()) return {};
  return Error{ErrorCode::kMismatch,
               fmt::format("measured on {}; this is {}: measure one here with sluice profile, or set --threads",
                           describe_machine(origin), describe_machine(machine))};
}

Status check_graph(const JsonReader& document, const graph::Graph& graph) {
  std::string name;
  std::string fingerprint;
  SLUICE_ASSIGN(const JsonReader made_for, document.object("graph"));
  SLUICE_RETURN_IF_ERROR(made_for.read("name", name));
  SLUICE_RETURN_IF_ERROR(made_for.read("fingerprint", fingerprint));
  if (fingerprint == graph.fingerprint()) return {};
  SLUICE_ASSIGN(const std::vector<JsonReader> ops, document.list("ops"));
  return Error{ErrorCode::kMismatch,
               fmt::format("made for another graph, of {} with {} ops; this is {} with {} ops (a model's options, its "
                           "batch size and the version of sluice are part of it): measure one with sluice profile",
                           name, ops.size(), graph.name, graph.op_count())};
}

Status read_times(const JsonReader& document, const graph::Graph& graph, Profile& profile) {
  SLUICE_ASSIGN(const std::vector<JsonReader> ops, document.list("ops"));
  for (const JsonReader& op : ops) {
    SLUICE_RETURN_IF_ERROR(op.read_figure("seconds", profile.op_seconds.emplace_back()));
    if (!op.has("cold_seconds")) continue;
    SLUICE_RETURN_IF_ERROR(op.read_figure("cold_seconds", profile.cold_seconds.emplace_back()));
  }
  const std::size_t expected = graph.ops().size();
  if (ops.size() != expected) {
    return document.error("ops", fmt::format("times of {} ops where the graph has {}", ops.size(), expected));
  }
  if (profile.cold_seconds.empty() || profile.cold_seconds.size() == expected) return {};
  return document.error("ops", fmt::format("cold_seconds of {} ops of {}", profile.cold_seconds.size(), expected));
}

Status check_placement(const JsonReader& reader, const PlacementTimes& times, const graph::Graph& graph) {
  if (!std::ranges::all_of(times.distinct, begin_in_fast_memory)) {
    return reader.error("configurations", "times by placement without the one that is all in fast memory");
  }
  const auto known = std::ssize(times.distinct);
  const auto sound = [&](std::int32_t index) { return index >= -1 && index < known; };
  if (times.index.size() == graph.ops().size() && std::ranges::all_of(times.index, sound)) return {};
  return reader.error("by_op", "times by placement that belong to no op");
}

Status read_placements(const JsonReader& document, const graph::Graph& graph, Profile& profile) {
  SLUICE_ASSIGN(const std::vector<JsonReader> placements, document.list("placements"));
  for (const JsonReader& reader : placements) {
    PlacementTimes times;
    SLUICE_RETURN_IF_ERROR(reader.read("tier", times.tier));
    SLUICE_RETURN_IF_ERROR(reader.read("emulated", times.emulated));
    SLUICE_RETURN_IF_ERROR(reader.read("configurations", times.distinct));
    SLUICE_RETURN_IF_ERROR(reader.read("by_op", times.index));
    SLUICE_RETURN_IF_ERROR(check_placement(reader, times, graph));
    profile.placements.push_back(std::make_shared<const PlacementTimes>(std::move(times)));
  }
  return {};
}

// Profiles saved without them have none.
Status read_encodings(const JsonReader& document, const graph::Graph& graph, Profile& profile) {
  if (!document.has("encodings")) return {};
  SLUICE_ASSIGN(const JsonReader reader, document.object("encodings"));
  EncodingFigures figures;
  SLUICE_RETURN_IF_ERROR(read_json(reader, figures));
  if (figures.encoded_bytes.size() != graph.tensors().size()) {
    return reader.error("encoded_bytes", fmt::format("of {} tensors where the graph has {}",
                                                     figures.encoded_bytes.size(), graph.tensors().size()));
  }
  profile.encodings = std::make_shared<EncodingFigures>(std::move(figures));
  return {};
}

}  // namespace

json profile_to_json(const graph::Graph& graph, const memory::Machine& machine, const Profile& profile) {
  json placements = json::array();
  for (const auto& times : profile.placements) {
    placements.push_back({{"tier", times->tier},
                          {"emulated", times->emulated},
                          {"configurations", times->distinct},
                          {"by_op", times->index}});
  }
  json document = {
      {"format", kFormatName},
      {"version", kProfileFormatVersion},
      {"graph", {{"name", graph.name}, {"fingerprint", profile.graph_fingerprint}}},
      {"machine", {{"cpu", machine.cpu}, {"threads", machine.threads}, {"fingerprint", profile.compute_fingerprint}}},
      {"provenance", to_string(profile.provenance)},
      {"distinct_ops", profile.distinct_ops},
      {"ops", times_to_json(graph, profile)},
      {"placements", placements},
  };
  if (profile.encodings != nullptr) document["encodings"] = *profile.encodings;
  if (!profile.choices.empty()) document["choices"] = choices_to_json(profile);
  return document;
}

Result<Profile> profile_from_json(const json& document, const graph::Graph& graph, const memory::Machine& machine) {
  const JsonReader reader(document);
  SLUICE_RETURN_IF_ERROR(read_format(reader, kFormatName, "a saved profile",
                                     {kProfileFormatVersion, kProfileFormatVersion,
                                      "save one again (sluice profile "
                                      "--save)"}));
  // The machine first: it decides about layouts, so that a graph made elsewhere is another one.
  SLUICE_RETURN_IF_ERROR(check_machine(reader, machine));
  SLUICE_RETURN_IF_ERROR(check_graph(reader, graph));
  Profile profile;
  profile.graph_fingerprint = graph.fingerprint();
  profile.compute_fingerprint = machine.compute_fingerprint();
  SLUICE_RETURN_IF_ERROR(reader.read("distinct_ops", profile.distinct_ops));
  SLUICE_RETURN_IF_ERROR(read_times(reader, graph, profile));
  SLUICE_RETURN_IF_ERROR(read_placements(reader, graph, profile));
  SLUICE_RETURN_IF_ERROR(read_encodings(reader, graph, profile));
  SLUICE_RETURN_IF_ERROR(read_choices(reader, graph, profile));
  return profile;
}

Result<Profile> read_profile(const std::filesystem::path& path, const graph::Graph& graph,
                             const memory::Machine& machine) {
  SLUICE_ASSIGN(const json document, read_json_file(path));
  Result<Profile> profile = profile_from_json(document, graph, machine);
  if (profile.ok()) return profile;
  return Error{profile.error().code, fmt::format("profile '{}': {}", path.string(), profile.error().message)};
}

}  // namespace sluice::profile
