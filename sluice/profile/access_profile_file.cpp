#include "sluice/profile/access_profile_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sluice/base/as_index.hpp"
#include "sluice/base/atomic_file.hpp"
#include "sluice/base/format_version.hpp"
#include "sluice/base/json_file.hpp"
#include "sluice/base/json_reader.hpp"
#include "sluice/graph/liveness.hpp"

namespace sluice::profile {
namespace {

using nlohmann::json;

constexpr int kAccessFormatVersion = 1;
constexpr KnownVersions kKnown{kAccessFormatVersion, kAccessFormatVersion, "count accesses again"};

json touches_to_json(const AccessProfile& profile) {
  json ops = json::array();
  for (const std::vector<TensorTouches>& operands : profile.ops) {
    json& op = ops.emplace_back(json::array());
    for (const TensorTouches& touches : operands) op.push_back({touches.tensor, touches.reads, touches.writes});
  }
  return ops;
}

Result<TensorTouches> read_touches(const JsonReader& reader, const std::vector<graph::TensorId>& operands) {
  std::vector<std::int64_t> entry;
  SLUICE_RETURN_IF_ERROR(reader.read(entry));
  if (entry.size() != 3) return reader.error("expected [tensor, reads, writes]");
  if (std::ranges::find(operands, entry[0]) == operands.end()) {
    return reader.error("a count of a tensor that its op does not use");
  }
  if (entry[1] < 0 || entry[2] < 0) return reader.error("a count below 0");
  return TensorTouches{as_id<graph::TensorId>(entry[0]), entry[1], entry[2]};
}

Status read_ops(const JsonReader& document, const graph::Graph& graph, AccessProfile& profile) {
  SLUICE_ASSIGN(const std::vector<JsonReader> ops, document.list("ops"));
  if (ops.size() != graph.ops().size()) {
    return document.error("ops", fmt::format("{} ops where the graph has {}", ops.size(), graph.op_count()));
  }
  for (const JsonReader& op : ops) {
    const std::vector<graph::TensorId> operands =
        graph::distinct_operands(graph.op(as_id<graph::OpIndex>(profile.ops.size())));
    auto& touches = profile.ops.emplace_back();
    SLUICE_ASSIGN(const std::vector<JsonReader> entries, op.elements());
    for (const JsonReader& entry : entries) {
      SLUICE_ASSIGN(const TensorTouches counted, read_touches(entry, operands));
      touches.push_back(counted);
    }
  }
  return {};
}

Status read_counts(const JsonReader& document, const graph::Graph& graph, AccessProfile& profile) {
  SLUICE_RETURN_IF_ERROR(document.read("method", profile.method));
  SLUICE_RETURN_IF_ERROR(document.read("tlb_reach", profile.tlb_reach));
  SLUICE_RETURN_IF_ERROR(document.read("largest_chunk", profile.largest_chunk));
  SLUICE_RETURN_IF_ERROR(document.read_figure("normal_step", profile.normal_step));
  SLUICE_RETURN_IF_ERROR(document.read_figure("profiled_step", profile.profiled_step));
  SLUICE_RETURN_IF_ERROR(document.read("notes", profile.notes));
  if (profile.tlb_reach <= 0) return document.error("tlb_reach", "a size below a page");
  if (profile.largest_chunk < kPageBytes) return document.error("largest_chunk", "a size below a page");
  return read_ops(document, graph, profile);
}

// An access profile by itself, or the one in a saved profile or in the JSON result of `sluice profile`. nullopt: none.
std::optional<JsonReader> counts_in(const JsonReader& document) {
  if (document.has("tlb_reach")) return document;
  const Result<JsonReader> accesses = document.object("accesses");
  if (!accesses.ok()) return std::nullopt;
  const Result<JsonReader> profile = accesses->object("profile");
  return profile.ok() ? *profile : *accesses;
}

Status read_heading(const JsonReader& document, AccessProfile& profile) {
  SLUICE_RETURN_IF_ERROR(document.read("graph_fingerprint", profile.graph_fingerprint));
  return document.read("compute_fingerprint", profile.compute_fingerprint);
}

Status named(const std::filesystem::path& path, const Status& status) {
  if (status.ok()) return status;
  return Error{status.error().code, fmt::format("access profile '{}': {}", path.string(), status.error().message)};
}

// The result of a command has a version of its own.
Status check_document(const JsonReader& document) {
  std::string format;
  if (document.has("format")) SLUICE_RETURN_IF_ERROR(document.read("format", format));
  if (format != kDocumentFormat) return {};
  return check_version(document, {kDocumentVersion, kDocumentVersion, "run sluice profile again"});
}

Status in_file(const std::filesystem::path& path, const Status& status) {
  if (status.ok()) return status;
  return Error{ErrorCode::kBadInput, fmt::format("{} is damaged or no access profile ({}): remove it", path.string(),
                                                 status.error().message)};
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

Result<AccessProfile> read_access_profile(const std::filesystem::path& path, const graph::Graph& graph,
                                          const memory::Machine& machine) {
  SLUICE_ASSIGN(const json whole, read_json_file(path));
  SLUICE_RETURN_IF_ERROR(named(path, check_document(JsonReader(whole))));
  const std::optional<JsonReader> document = counts_in(JsonReader(whole));
  if (!document) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("{} holds no access counts, by which planners such as sentinel order tensors: count them "
                             "with sluice profile, the model's options and --accesses --save FILE, or leave it out",
                             path.string())};
  }
  AccessProfile profile;
  SLUICE_RETURN_IF_ERROR(named(path, check_version(*document, kKnown)));
  SLUICE_RETURN_IF_ERROR(in_file(path, read_heading(*document, profile)));
  SLUICE_RETURN_IF_ERROR(check_origin(path, profile.graph_fingerprint, graph.fingerprint(), "model, batch or setting"));
  SLUICE_RETURN_IF_ERROR(check_origin(path, profile.compute_fingerprint, machine.compute_fingerprint(), "machine"));
  SLUICE_RETURN_IF_ERROR(in_file(path, read_counts(*document, graph, profile)));
  return profile;
}

}  // namespace sluice::profile
