#include "sluice/train/parked_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sluice/base/hash.hpp"
#include "sluice/base/interval.hpp"
#include "sluice/base/parse.hpp"
#include "sluice/memory/presets.hpp"

namespace sluice::train {
namespace {

constexpr std::int64_t kHashedAtOnce = 1 << 18;  // elements
constexpr auto kElementBytes = static_cast<Bytes>(sizeof(float));

// Some rows of a whole parameter.
struct ParkedRows {
  std::string whole;
  std::int64_t first_row = 0;
  std::int64_t rows = 1;
  std::int64_t row_elements = 1;

  std::int64_t end() const { return first_row + rows; }
};

ParkedRows rows_of(const graph::Tensor& tensor) {
  ParkedRows part{graph::whole_name(tensor), tensor.part.rows.begin};
  if (const graph::Shape& shape = whole_shape(tensor); !shape.empty()) {
    part.rows = shape.front();
    part.row_elements = graph::element_count(shape) / std::max<std::int64_t>(1, part.rows);
  }
  return part;
}

}  // namespace

Result<ParkedTensors> ParkedTensors::park(ParameterAccess& access, const std::string& folder) {
  ParkedTensors parked(folder);
  SLUICE_RETURN_IF_ERROR(parked.update(access));
  return parked;
}

Status ParkedTensors::update(ParameterAccess& access) {
  SLUICE_RETURN_IF_ERROR(make_room(access.graph()));
  for (const graph::TensorId id : persistent_tensors(access.graph())) {
    const ParkedRows part = rows_of(access.graph().tensor(id));
    const Place& place = places_.at(part.whole);
    SLUICE_ASSIGN(const std::span<const float> values, access.read(id));
    const Bytes offset = place.offset + part.first_row * place.row_elements * kElementBytes;
    SLUICE_RETURN_IF_ERROR(files_[place.file].write(offset, std::as_bytes(values)));
  }
  return {};
}

Status ParkedTensors::make_room(const graph::Graph& graph) {
  std::map<std::string, Place> grown;
  Bytes end = 0;
  for (const graph::TensorId id : persistent_tensors(graph)) {
    const ParkedRows part = rows_of(graph.tensor(id));
    SLUICE_RETURN_IF_ERROR(check_rows(graph.tensor(id)));
    const auto before = places_.find(part.whole);
    if (before != places_.end() && before->second.rows >= part.end()) continue;
    Place& place = grown[part.whole];
    place.rows = std::max(place.rows, part.end());
    place.row_elements = part.row_elements;
  }
  if (grown.empty()) return {};
  for (auto& [name, place] : grown) {
    place.file = files_.size();
    place.offset = end;
    end += align_up(place.rows * place.row_elements * kElementBytes, memory::kBlockAlignment);
  }
  SLUICE_ASSIGN(memory::SpillFile file, memory::SpillFile::open(folder_, end));
  files_.push_back(std::move(file));
  for (const auto& [name, place] : grown) places_[name] = place;
  return {};
}

Status ParkedTensors::check_rows(const graph::Tensor& tensor) const {
  const ParkedRows part = rows_of(tensor);
  const auto before = places_.find(part.whole);
  if (before == places_.end() || before->second.row_elements == part.row_elements) return {};
  return Error{ErrorCode::kMismatch,
               fmt::format("{} has rows of {} elements in this graph and of {} in an earlier one; graphs that take "
                           "turns may differ in a parameter's rows alone",
                           part.whole, part.row_elements, before->second.row_elements)};
}

std::int64_t ParkedTensors::rows_held(const graph::Tensor& tensor) const {
  const ParkedRows part = rows_of(tensor);
  const auto place = places_.find(part.whole);
  if (place == places_.end() || place->second.row_elements != part.row_elements) return 0;
  return std::clamp<std::int64_t>(place->second.rows - part.first_row, 0, part.rows);
}

Status ParkedTensors::read(const graph::Tensor& tensor, std::span<float> first_rows) const {
  if (first_rows.empty()) return {};
  const ParkedRows part = rows_of(tensor);
  const Place& place = places_.at(part.whole);
  const Bytes offset = place.offset + part.first_row * place.row_elements * kElementBytes;
  return files_[place.file].read(offset, std::as_writable_bytes(first_rows));
}

Status ParkedTensors::restore(ParameterAccess& access) const {
  for (const graph::TensorId id : persistent_tensors(access.graph())) {
    const graph::Tensor& tensor = access.graph().tensor(id);
    const std::span<float> values = access.stage(id);
    if (rows_held(tensor) < rows_of(tensor).rows) {
      return Error{ErrorCode::kMismatch, fmt::format("{} is not among the tensors that were put aside, or they have "
                                                     "not all of its {} elements",
                                                     tensor.name, values.size())};
    }
    SLUICE_RETURN_IF_ERROR(read(tensor, values));
    SLUICE_RETURN_IF_ERROR(access.write(id));
  }
  return {};
}

Status ParkedTensors::restore_or_initialise(ParameterAccess& access, std::uint64_t seed,
                                            const graph::GivenValues* given) const {
  for (const graph::TensorId id : persistent_tensors(access.graph())) {
    const graph::Tensor& tensor = access.graph().tensor(id);
    SLUICE_RETURN_IF_ERROR(check_rows(tensor));
    const ParkedRows part = rows_of(tensor);
    const std::span<float> values = access.stage(id);
    const std::int64_t held = rows_held(tensor);
    if (held < part.rows) SLUICE_RETURN_IF_ERROR(fill_initial_values(tensor.init, seed, given, values));
    SLUICE_RETURN_IF_ERROR(read(tensor, values.first(static_cast<std::size_t>(held * part.row_elements))));
    SLUICE_RETURN_IF_ERROR(access.write(id));
  }
  return {};
}

bool ParkedTensors::holds_all_of(const graph::Graph& graph) const {
  return std::ranges::all_of(persistent_tensors(graph), [&](graph::TensorId id) {
    return rows_held(graph.tensor(id)) == rows_of(graph.tensor(id)).rows;
  });
}

Result<std::string> ParkedTensors::hash() const {
  Hasher hasher;
  std::vector<float> values;
  for (const auto& [name, place] : places_) {
    hasher.add(std::string_view(name));
    const std::int64_t elements = place.rows * place.row_elements;
    for (std::int64_t done = 0; done < elements; done += kHashedAtOnce) {
      values.resize(static_cast<std::size_t>(std::min(kHashedAtOnce, elements - done)));
      const auto bytes = std::as_writable_bytes(std::span(values));
      SLUICE_RETURN_IF_ERROR(files_[place.file].read(place.offset + done * kElementBytes, bytes));
      hasher.add(bytes);
    }
  }
  return hasher.hex();
}

std::string scratch_folder(const memory::Machine& machine) {
  const auto file = std::ranges::find_if(machine.tiers, [](const memory::Tier& tier) { return tier.kind->in_file; });
  if (file == machine.tiers.end()) return memory::default_spill_path();
  std::error_code ignored;
  if (std::filesystem::is_directory(file->path, ignored)) return file->path;
  const std::string parent = std::filesystem::path(file->path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace sluice::train
