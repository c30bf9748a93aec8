#include "sluice/train/checkpoint.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/json_reader.hpp"
#include "sluice/base/text/utf8.hpp"
#include "sluice/data/data_source.hpp"
#include "sluice/graph/rewrite/delay_updates.hpp"
#include "sluice/train/checkpoint_file/checkpoint_file.hpp"

namespace sluice::train {
namespace {

// Of a run, or of what the run without delayed updates has of it.
std::vector<graph::TensorId> kept_tensors(const graph::Graph& graph, bool undelayed) {
  std::vector<graph::TensorId> kept = persistent_tensors(graph);
  if (undelayed) std::erase_if(kept, [&](graph::TensorId id) { return graph::is_in_flight(graph.tensor(id)); });
  return kept;
}

nlohmann::json tensor_list(const graph::Graph& graph, bool undelayed = false) {
  nlohmann::json tensors = nlohmann::json::array();
  for (const graph::TensorId id : kept_tensors(graph, undelayed)) {
    tensors.push_back(
        {{"name", graph.tensor(id).name}, {"elements", graph::element_count(whole_shape(graph.tensor(id)))}});
  }
  return tensors;
}

Result<std::int64_t> next_step_of(const CheckpointReader& opened) {
  std::int64_t step = 0;
  const Status read = JsonReader(opened.header()).read("next_step", step);
  if (!read.ok()) return opened.damaged(read.error().message);
  if (step < 0) return opened.damaged("its header names no next step");
  return step;
}

std::string shortened(std::string text) {
  constexpr std::size_t kMostShown = 400;
  return text.size() > kMostShown ? as_utf8(std::string_view(text).substr(0, kMostShown)) + "..." : text;
}

template <typename T>
Status check_field(const CheckpointReader& opened, const std::filesystem::path& path, std::string_view field,
                   const T& expected) {
  const auto found = opened.header().find(field);
  if (found != opened.header().end() && *found == nlohmann::json(expected)) return {};
  const std::string has = found == opened.header().end() ? "nothing" : shortened(found->dump());
  return Error{ErrorCode::kMismatch, fmt::format("checkpoint {} is of another run: its {} is {}, this run's is {}",
                                                 path.string(), field, has, nlohmann::json(expected).dump())};
}

bool is_of_undelayed(const CheckpointReader& opened, const CheckpointIdentity& identity) {
  const auto settings = opened.header().find("settings");
  return identity.undelayed && settings != opened.header().end() &&
         *settings == nlohmann::json(identity.undelayed->settings);
}

Error of_other_tensors(const std::filesystem::path& path) {
  return {ErrorCode::kMismatch,
          fmt::format("checkpoint {} is of another run: its tensors are not this model's", path.string())};
}

Status check_identity(const CheckpointReader& opened, const std::filesystem::path& path, CheckpointIdentity identity) {
  if (is_of_undelayed(opened, identity)) {
    identity.settings = identity.undelayed->settings;
    identity.graph_fingerprint = identity.undelayed->graph_fingerprint;
  }
  SLUICE_RETURN_IF_ERROR(check_field(opened, path, "model", identity.model));
  SLUICE_RETURN_IF_ERROR(check_field(opened, path, "settings", identity.settings));
  SLUICE_RETURN_IF_ERROR(check_field(opened, path, "batch", identity.batch));
  SLUICE_RETURN_IF_ERROR(check_field(opened, path, "seed", identity.seed));
  SLUICE_RETURN_IF_ERROR(check_field(opened, path, "data", identity.data));
  return check_field(opened, path, "graph_fingerprint", identity.graph_fingerprint);
}

// All that can be wrong with a checkpoint but its tensors; first of all its version: another one may differ in everything
// but its header.
Result<CheckpointReader> open_checked(const std::filesystem::path& path, const CheckpointIdentity& identity) {
  SLUICE_ASSIGN(CheckpointReader opened, CheckpointReader::open(path));
  SLUICE_RETURN_IF_ERROR(opened.check_version(kCheckpointVersion, "train again, or go on from one of this version"));
  SLUICE_RETURN_IF_ERROR(opened.check_contents());
  SLUICE_RETURN_IF_ERROR(check_identity(opened, path, identity));
  SLUICE_RETURN_IF_ERROR(next_step_of(opened));
  return Result<CheckpointReader>(std::move(opened));
}

nlohmann::json header_of(const CheckpointIdentity& identity, std::int64_t next_step, nlohmann::json tensors) {
  return {{"version", kCheckpointVersion}, {"model", identity.model},
          {"settings", identity.settings}, {"graph_fingerprint", identity.graph_fingerprint},
          {"batch", identity.batch},       {"seed", identity.seed},
          {"data", identity.data},         {"next_step", next_step},
          {"tensors", std::move(tensors)}};
}

nlohmann::json whole_list(const std::vector<ParkedTensors::Whole>& wholes) {
  nlohmann::json tensors = nlohmann::json::array();
  for (const ParkedTensors::Whole& whole : wholes) {
    tensors.push_back({{"name", whole.name}, {"rows", whole.rows}, {"row_elements", whole.row_elements}});
  }
  return tensors;
}

// Whose sizes are those of the values that are there.
Result<std::vector<ParkedTensors::Whole>> wholes_of(const CheckpointReader& opened) {
  std::vector<ParkedTensors::Whole> wholes;
  std::int64_t left = opened.value_bytes() / static_cast<Bytes>(sizeof(float));
  const Result<std::vector<JsonReader>> tensors = JsonReader(opened.header()).list("tensors");
  if (!tensors.ok()) return opened.damaged(tensors.error().message);
  for (const JsonReader& reader : *tensors) {
    ParkedTensors::Whole& whole = wholes.emplace_back();
    for (const Status& read : {reader.read("name", whole.name), reader.read("rows", whole.rows),
                               reader.read("row_elements", whole.row_elements)}) {
      if (!read.ok()) return opened.damaged(read.error().message);
    }
    if (whole.rows < 1 || whole.row_elements < 1 || whole.rows > left / whole.row_elements) {
      return opened.damaged(fmt::format("'{}' has {} x {} values, and there are {} more", whole.name, whole.rows,
                                        whole.row_elements, left));
    }
    left -= whole.elements();
  }
  return wholes;
}

}  // namespace

CheckpointIdentity identity_of(const Workload& workload, std::string_view data, std::uint64_t seed) {
  return {workload.forward.name,
          describe_settings(workload.options),
          workload.logical_fingerprint,
          data::batch_size(workload.graph()) * workload.options.optimizer.ranks,
          seed,
          std::string(data::data_kind(data)),
          workload.undelayed};
}

std::uintmax_t bytes_of_checkpoint(const graph::Graph& graph) {
  constexpr std::uintmax_t kOfHeader = 256;  // for each tensor, and for the rest
  std::uintmax_t bytes = kOfHeader;
  for (const graph::TensorId id : persistent_tensors(graph)) {
    bytes += as_index(graph::element_count(whole_shape(graph.tensor(id)))) * sizeof(float) + kOfHeader;
  }
  return bytes;
}

Status write_checkpoint(const std::filesystem::path& path, const CheckpointIdentity& identity, std::int64_t next_step,
                        ParameterAccess& access, Status& written) {
  std::optional<CheckpointWriter> file;
  if (access.first_rank()) {
    Result<CheckpointWriter> begun =
        CheckpointWriter::begin(path, header_of(identity, next_step, tensor_list(access.graph())));
    written = begun.ok() ? Status() : Status(begun.error());
    if (begun.ok()) file.emplace(std::move(begun).value());
  }
  for (const graph::TensorId tensor : persistent_tensors(access.graph())) {
    SLUICE_ASSIGN(const std::span<const float> values, access.read(tensor));
    if (file && written.ok()) written = file->write(std::as_bytes(values));
    if (access.alone() && !written.ok()) return {};
  }
  if (file && written.ok()) written = file->finish();
  return {};
}

Result<std::int64_t> read_checkpoint(const std::filesystem::path& path, const CheckpointIdentity& identity,
                                     ParameterAccess& access) {
  SLUICE_ASSIGN(CheckpointReader opened, open_checked(path, identity));
  const bool undelayed = is_of_undelayed(opened, identity);
  if (opened.header().value("tensors", nlohmann::json()) != tensor_list(access.graph(), undelayed)) {
    return of_other_tensors(path);
  }
  opened.begin_values();
  for (const graph::TensorId tensor : kept_tensors(access.graph(), undelayed)) {
    SLUICE_RETURN_IF_ERROR(opened.read_values(access.stage(tensor)));
    SLUICE_RETURN_IF_ERROR(access.write(tensor));
  }
  return next_step_of(opened);
}

Status write_checkpoint(const std::filesystem::path& path, const CheckpointIdentity& identity, std::int64_t next_step,
                        const ParkedTensors& tensors) {
  const std::vector<ParkedTensors::Whole> wholes = tensors.wholes();
  SLUICE_ASSIGN(CheckpointWriter file,
                CheckpointWriter::begin(path, header_of(identity, next_step, whole_list(wholes))));
  std::vector<float> values;
  for (const ParkedTensors::Whole& whole : wholes) {
    values.resize(as_index(whole.elements()));
    SLUICE_RETURN_IF_ERROR(tensors.read_whole(whole.name, values));
    SLUICE_RETURN_IF_ERROR(file.write(std::as_bytes(std::span(values))));
  }
  return file.finish();
}

Result<std::int64_t> read_checkpoint(const std::filesystem::path& path, const CheckpointIdentity& identity,
                                     const graph::Graph& graph, ParkedTensors& tensors) {
  SLUICE_ASSIGN(CheckpointReader opened, open_checked(path, identity));
  SLUICE_ASSIGN(const std::vector<ParkedTensors::Whole> wholes, wholes_of(opened));
  SLUICE_RETURN_IF_ERROR(tensors.reserve(wholes));
  if (!tensors.holds_all_of(graph, persistent_tensors(graph))) return of_other_tensors(path);
  opened.begin_values();
  std::vector<float> values;
  for (const ParkedTensors::Whole& whole : wholes) {
    values.resize(as_index(whole.elements()));
    SLUICE_RETURN_IF_ERROR(opened.read_values(values));
    SLUICE_RETURN_IF_ERROR(tensors.write_whole(whole.name, values));
  }
  return next_step_of(opened);
}

}  // namespace sluice::train
