#include "sluice/train/parameters/parked_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sluice/base/as_index.hpp"
#include "sluice/base/hash.hpp"
#include "sluice/base/interval.hpp"
#include "sluice/base/parse.hpp"
#include "sluice/memory/presets.hpp"

namespace sluice::train {
namespace {

constexpr std::int64_t kElementsAtOnce = 1 << 18;
constexpr auto kElementBytes = Bytes{sizeof(float)};

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

Status ParkedTensors::update(ParameterAccess& access, std::span<const graph::TensorId> tensors) {
  std::vector<Whole> wholes;
  for (const graph::TensorId id : tensors) {
    const ParkedRows part = rows_of(access.graph().tensor(id));
    wholes.push_back({part.whole, part.end(), part.row_elements});
  }
  SLUICE_RETURN_IF_ERROR(reserve(wholes));
  for (const graph::TensorId id : tensors) {
    const ParkedRows part = rows_of(access.graph().tensor(id));
    const Place& place = places_.at(part.whole);
    SLUICE_ASSIGN(const std::span<const float> values, access.read(id));
    const Bytes offset = place.offset + part.first_row * place.row_elements * kElementBytes;
    SLUICE_RETURN_IF_ERROR(files_[place.file].write(offset, std::as_bytes(values)));
  }
  return {};
}

Status ParkedTensors::reserve(std::span<const Whole> wholes) {
  std::map<std::string, Place> grown;
  Bytes end = 0;
  for (const Whole& whole : wholes) {
    SLUICE_RETURN_IF_ERROR(check_rows(whole.name, whole.row_elements));
    const auto before = places_.find(whole.name);
    if (before != places_.end() && before->second.rows >= whole.rows) continue;
    Place& place = grown[whole.name];
    place.rows = std::max(place.rows, whole.rows);
    place.row_elements = whole.row_elements;
  }
  if (grown.empty()) return {};
  for (auto& [name, place] : grown) {
    place.file = files_.size();
    place.offset = end;
    end += align_up(place.rows * place.row_elements * kElementBytes, memory::kBlockAlignment);
  }
  SLUICE_ASSIGN(memory::SpillFile file, memory::SpillFile::open(folder_, end));
  files_.push_back(std::move(file));
  for (const auto& [name, place] : grown) {
    if (const auto before = places_.find(name); before != places_.end()) {
      SLUICE_RETURN_IF_ERROR(copy(before->second, place));
    }
    places_[name] = place;
  }
  return {};
}

Status ParkedTensors::copy(const Place& from, const Place& to) const {
  std::vector<float> values;
  const std::int64_t elements = from.rows * from.row_elements;
  for (std::int64_t done = 0; done < elements; done += kElementsAtOnce) {
    values.resize(as_index(std::min(kElementsAtOnce, elements - done)));
    SLUICE_RETURN_IF_ERROR(
        files_[from.file].read(from.offset + done * kElementBytes, std::as_writable_bytes(std::span(values))));
    SLUICE_RETURN_IF_ERROR(files_[to.file].write(to.offset + done * kElementBytes, std::as_bytes(std::span(values))));
  }
  return {};
}

Status ParkedTensors::check_rows(const std::string& whole, std::int64_t row_elements) const {
  const auto before = places_.find(whole);
  if (before == places_.end() || before->second.row_elements == row_elements) return {};
  return Error{ErrorCode::kMismatch,
               fmt::format("{} has rows of {} elements in this graph and of {} in an earlier one; graphs that take "
                           "turns may differ in a parameter's rows alone",
                           whole, row_elements, before->second.row_elements)};
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

Status ParkedTensors::restore(ParameterAccess& access, std::span<const graph::TensorId> tensors) const {
  for (const graph::TensorId id : tensors) {
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

Status ParkedTensors::restore_or_initialise(ParameterAccess& access, std::span<const graph::TensorId> tensors,
                                            std::uint64_t seed, const graph::GivenValues* given) const {
  for (const graph::TensorId id : tensors) {
    const graph::Tensor& tensor = access.graph().tensor(id);
    const ParkedRows part = rows_of(tensor);
    SLUICE_RETURN_IF_ERROR(check_rows(part.whole, part.row_elements));
    const std::span<float> values = access.stage(id);
    const std::int64_t held = rows_held(tensor);
    if (held < part.rows) SLUICE_RETURN_IF_ERROR(fill_initial_values(tensor.init, seed, given, values));
    SLUICE_RETURN_IF_ERROR(read(tensor, values.first(as_index(held * part.row_elements))));
    SLUICE_RETURN_IF_ERROR(access.write(id));
  }
  return {};
}

void ParkedTensors::forget() {
  files_.clear();
  places_.clear();
}

bool ParkedTensors::holds_all_of(const graph::Graph& graph, std::span<const graph::TensorId> tensors) const {
  return std::ranges::all_of(
      tensors, [&](graph::TensorId id) { return rows_held(graph.tensor(id)) == rows_of(graph.tensor(id)).rows; });
}

std::vector<ParkedTensors::Whole> ParkedTensors::wholes() const {
  std::vector<Whole> wholes;
  for (const auto& [name, place] : places_) wholes.push_back({name, place.rows, place.row_elements});
  return wholes;
}

Status ParkedTensors::read_whole(const std::string& name, std::span<float> values) const {
  const Place& place = places_.at(name);
  return files_[place.file].read(place.offset, std::as_writable_bytes(values));
}

Status ParkedTensors::write_whole(const std::string& name, std::span<const float> values) {
  const Place& place = places_.at(name);
  return files_[place.file].write(place.offset, std::as_bytes(values));
}

Result<std::string> ParkedTensors::hash() const {
  Hasher hasher;
  std::vector<float> values;
  for (const auto& [name, place] : places_) {
    hasher.add(std::string_view(name));
    const std::int64_t elements = place.rows * place.row_elements;
    for (std::int64_t done = 0; done < elements; done += kElementsAtOnce) {
      values.resize(as_index(std::min(kElementsAtOnce, elements - done)));
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
