#include "sluice/train/parked_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sluice/memory/presets.hpp"

namespace sluice {

Result<ParkedTensors> ParkedTensors::park(ParameterAccess& access, const std::string& folder) {
  const Graph& graph = access.graph();
  std::map<std::string, Place> places;
  Bytes end = 0;
  for (const TensorId id : persistent_tensors(graph)) {
    const std::int64_t elements = element_count(graph.tensor(id).shape);
    SLUICE_CHECK(places.emplace(graph.tensor(id).name, Place{end, elements}).second,
                 "one persistent tensor is called " + graph.tensor(id).name);
    end += align_up(elements * static_cast<Bytes>(sizeof(float)), kTensorAlignment);
  }
  SLUICE_ASSIGN(SpillFile file, SpillFile::open(folder, end));
  ParkedTensors parked(std::move(file));
  for (const TensorId id : persistent_tensors(graph)) {
    SLUICE_ASSIGN(const std::span<const float> values, access.read(id));
    SLUICE_RETURN_IF_ERROR(parked.file_.write(places.at(graph.tensor(id).name).offset, std::as_bytes(values)));
  }
  parked.places_ = std::move(places);
  return parked;
}

Status ParkedTensors::restore(ParameterAccess& access) const {
  for (const TensorId id : persistent_tensors(access.graph())) {
    const std::string& name = access.graph().tensor(id).name;
    const std::span<float> values = access.stage(id);
    const auto place = places_.find(name);
    if (place == places_.end() || place->second.elements != static_cast<std::int64_t>(values.size())) {
      return Error{ErrorCode::kMismatch, fmt::format("{} is not among the tensors that were put aside, or has another "
                                                     "length than its {} elements",
                                                     name, values.size())};
    }
    SLUICE_RETURN_IF_ERROR(file_.read(place->second.offset, std::as_writable_bytes(values)));
    SLUICE_RETURN_IF_ERROR(access.write(id));
  }
  return {};
}

std::string scratch_folder(const Machine& machine) {
  const auto file = std::ranges::find(machine.tiers, TierKind::kFile, &Tier::kind);
  if (file == machine.tiers.end()) return default_spill_path();
  std::error_code ignored;
  if (std::filesystem::is_directory(file->path, ignored)) return file->path;
  const std::string parent = std::filesystem::path(file->path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace sluice
