#include "sluice/train/checkpoint.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/atomic_file.hpp"
#include "sluice/base/format_version.hpp"
#include "sluice/base/hash.hpp"
#include "sluice/base/json_file.hpp"
#include "sluice/base/json_reader.hpp"
#include "sluice/data/data_source.hpp"
#include "sluice/graph/rewrite/delay_updates.hpp"

namespace sluice::train {
namespace {

constexpr std::string_view kMagic = "SLUICECK";
constexpr std::size_t kChecksumDigits = 32;
constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{256} << 20;

// A file under construction that ends with the checksum of all before.
class HashedFile {
 public:
  explicit HashedFile(AtomicFile file) : file_(std::move(file)) {}

  Status write(std::span<const std::byte> bytes) {
    hasher_.add(bytes);
    return file_.write(bytes);
  }
  Status write(std::string_view text) { return write(std::as_bytes(std::span(text))); }

  Status finish() {
    SLUICE_RETURN_IF_ERROR(file_.write(hasher_.hex()));
    return file_.commit();
  }

 private:
  AtomicFile file_;
  Hasher hasher_;
};

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

Error damaged(const std::filesystem::path& path, std::string_view why) {
  return Error{ErrorCode::kBadInput, fmt::format("checkpoint {}: {}", path.string(), why)};
}

Status read_exactly(std::ifstream& file, const std::filesystem::path& path, char* into, std::size_t bytes) {
  file.read(into, static_cast<std::streamsize>(bytes));
  if (as_index(file.gcount()) != bytes) return damaged(path, "cut short");
  return {};
}

struct OpenCheckpoint {
  std::ifstream file;
  nlohmann::json header;
  std::streamoff values_at = 0;
};

Result<OpenCheckpoint> open_checkpoint(const std::filesystem::path& path) {
  OpenCheckpoint opened;
  opened.file.open(path, std::ios::binary);
  if (!opened.file) return damaged(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
  std::array<char, 16> start{};
  SLUICE_RETURN_IF_ERROR(read_exactly(opened.file, path, start.data(), start.size()));
  if (std::string_view(start.data(), kMagic.size()) != kMagic) return damaged(path, "not a sluice checkpoint");
  std::uint64_t length = 0;
  std::memcpy(&length, start.data() + kMagic.size(), sizeof(length));
  if (length > kMaxHeaderBytes) return damaged(path, "its header length is damaged");
  std::string text(length, '\0');
  SLUICE_RETURN_IF_ERROR(read_exactly(opened.file, path, text.data(), text.size()));
  Result<nlohmann::json> header = parse_json(text);
  if (!header.ok() || !header->is_object()) return damaged(path, "its header is damaged");
  opened.header = *std::move(header);
  opened.values_at = static_cast<std::streamoff>(start.size() + length);
  return opened;
}

// Before anything else: another version may differ in everything but its header.
Status check_known(const OpenCheckpoint& opened, const std::filesystem::path& path) {
  const Status known = check_version(JsonReader(opened.header), {kCheckpointVersion, kCheckpointVersion,
                                                                 "train again, or go on from one of this version"});
  return known.ok() ? known : damaged(path, known.error().message);
}

Status check_contents(OpenCheckpoint& opened, const std::filesystem::path& path) {
  std::error_code failure;
  const auto file_bytes = std::filesystem::file_size(path, failure);
  if (failure || file_bytes < static_cast<std::uintmax_t>(opened.values_at) + kChecksumDigits) {
    return damaged(path, "cut short");
  }
  opened.file.seekg(0);
  Hasher hasher;
  std::vector<char> buffer(std::size_t{1} << 20);
  std::uintmax_t left = file_bytes - kChecksumDigits;
  while (left > 0) {
    const std::size_t part = std::min<std::uintmax_t>(left, buffer.size());
    SLUICE_RETURN_IF_ERROR(read_exactly(opened.file, path, buffer.data(), part));
    hasher.add(std::as_bytes(std::span(buffer.data(), part)));
    left -= part;
  }
  SLUICE_RETURN_IF_ERROR(read_exactly(opened.file, path, buffer.data(), kChecksumDigits));
  if (std::string_view(buffer.data(), kChecksumDigits) != hasher.hex()) {
    return damaged(path, "its checksum does not match: the file is cut short or damaged; use an earlier one");
  }
  return {};
}

Result<std::int64_t> next_step_of(const OpenCheckpoint& opened, const std::filesystem::path& path) {
  std::int64_t step = 0;
  const Status read = JsonReader(opened.header).read("next_step", step);
  if (!read.ok()) return damaged(path, read.error().message);
  if (step < 0) return damaged(path, "its header names no next step");
  return step;
}

template <typename T>
Status check_field(const OpenCheckpoint& opened, const std::filesystem::path& path, std::string_view field,
                   const T& expected) {
  const auto found = opened.header.find(field);
  if (found != opened.header.end() && *found == nlohmann::json(expected)) return {};
  const std::string has = found == opened.header.end() ? "nothing" : found->dump();
  return Error{ErrorCode::kMismatch, fmt::format("checkpoint {} is of another run: its {} is {}, this run's is {}",
                                                 path.string(), field, has, nlohmann::json(expected).dump())};
}

bool is_of_undelayed(const OpenCheckpoint& opened, const CheckpointIdentity& identity) {
  const auto settings = opened.header.find("settings");
  return identity.undelayed && settings != opened.header.end() &&
         *settings == nlohmann::json(identity.undelayed->settings);
}

Error of_other_tensors(const std::filesystem::path& path) {
  return {ErrorCode::kMismatch,
          fmt::format("checkpoint {} is of another run: its tensors are not this model's", path.string())};
}

Status check_identity(const OpenCheckpoint& opened, const std::filesystem::path& path, CheckpointIdentity identity) {
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

// All that can be wrong with a checkpoint but its tensors.
Result<OpenCheckpoint> open_checked(const std::filesystem::path& path, const CheckpointIdentity& identity) {
  SLUICE_ASSIGN(OpenCheckpoint opened, open_checkpoint(path));
  SLUICE_RETURN_IF_ERROR(check_known(opened, path));
  SLUICE_RETURN_IF_ERROR(check_contents(opened, path));
  SLUICE_RETURN_IF_ERROR(check_identity(opened, path, identity));
  SLUICE_RETURN_IF_ERROR(next_step_of(opened, path));
  return opened;
}

Status read_values(OpenCheckpoint& opened, const std::filesystem::path& path, std::span<float> values) {
  return read_exactly(opened.file, path, reinterpret_cast<char*>(values.data()), values.size_bytes());
}

nlohmann::json header_of(const CheckpointIdentity& identity, std::int64_t next_step, nlohmann::json tensors) {
  return {{"version", kCheckpointVersion}, {"model", identity.model},
          {"settings", identity.settings}, {"graph_fingerprint", identity.graph_fingerprint},
          {"batch", identity.batch},       {"seed", identity.seed},
          {"data", identity.data},         {"next_step", next_step},
          {"tensors", std::move(tensors)}};
}

// A file whose values follow.
Result<HashedFile> begin_file(const std::filesystem::path& path, const nlohmann::json& header) {
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  SLUICE_ASSIGN(AtomicFile created, AtomicFile::create(path));
  HashedFile file(std::move(created));
  SLUICE_RETURN_IF_ERROR(file.write(kMagic));
  SLUICE_RETURN_IF_ERROR(file.write(std::as_bytes(std::span(&length, 1))));
  SLUICE_RETURN_IF_ERROR(file.write(text));
  return file;
}

nlohmann::json whole_list(const std::vector<ParkedTensors::Whole>& wholes) {
  nlohmann::json tensors = nlohmann::json::array();
  for (const ParkedTensors::Whole& whole : wholes) {
    tensors.push_back({{"name", whole.name}, {"rows", whole.rows}, {"row_elements", whole.row_elements}});
  }
  return tensors;
}

Result<std::vector<ParkedTensors::Whole>> wholes_of(const OpenCheckpoint& opened, const std::filesystem::path& path) {
  const nlohmann::json tensors = opened.header.value("tensors", nlohmann::json::array());
  std::vector<ParkedTensors::Whole> wholes;
  for (const nlohmann::json& each : tensors) {
    ParkedTensors::Whole& whole = wholes.emplace_back();
    const JsonReader reader(each);
    for (const Status& read : {reader.read("name", whole.name), reader.read("rows", whole.rows),
                               reader.read("row_elements", whole.row_elements)}) {
      if (!read.ok()) return damaged(path, read.error().message);
    }
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
  std::optional<HashedFile> file;
  if (access.first_rank()) {
    Result<HashedFile> begun = begin_file(path, header_of(identity, next_step, tensor_list(access.graph())));
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
  SLUICE_ASSIGN(OpenCheckpoint opened, open_checked(path, identity));
  const bool undelayed = is_of_undelayed(opened, identity);
  if (opened.header.value("tensors", nlohmann::json()) != tensor_list(access.graph(), undelayed)) {
    return of_other_tensors(path);
  }
  opened.file.seekg(opened.values_at);
  for (const graph::TensorId tensor : kept_tensors(access.graph(), undelayed)) {
    SLUICE_RETURN_IF_ERROR(read_values(opened, path, access.stage(tensor)));
    SLUICE_RETURN_IF_ERROR(access.write(tensor));
  }
  return next_step_of(opened, path);
}

Status write_checkpoint(const std::filesystem::path& path, const CheckpointIdentity& identity, std::int64_t next_step,
                        const ParkedTensors& tensors) {
  const std::vector<ParkedTensors::Whole> wholes = tensors.wholes();
  SLUICE_ASSIGN(HashedFile file, begin_file(path, header_of(identity, next_step, whole_list(wholes))));
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
  SLUICE_ASSIGN(OpenCheckpoint opened, open_checked(path, identity));
  SLUICE_ASSIGN(const std::vector<ParkedTensors::Whole> wholes, wholes_of(opened, path));
  SLUICE_RETURN_IF_ERROR(tensors.reserve(wholes));
  if (!tensors.holds_all_of(graph, persistent_tensors(graph))) return of_other_tensors(path);
  opened.file.seekg(opened.values_at);
  std::vector<float> values;
  for (const ParkedTensors::Whole& whole : wholes) {
    values.resize(as_index(whole.elements()));
    SLUICE_RETURN_IF_ERROR(read_values(opened, path, values));
    SLUICE_RETURN_IF_ERROR(tensors.write_whole(whole.name, values));
  }
  return next_step_of(opened, path);
}

}  // namespace sluice::train
