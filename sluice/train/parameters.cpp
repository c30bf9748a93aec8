#include "sluice/train/parameters.hpp"

#include <algorithm>

#include "sluice/base/hash.hpp"
#include "sluice/base/random.hpp"

namespace sluice {
namespace {

void fill_normal(const Init& init, std::uint64_t seed, std::span<float> values) {
  const auto count = static_cast<std::int64_t>(values.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::uint64_t>(init.first_element + i);
    values[static_cast<std::size_t>(i)] = init.stddev * random_normal(seed, init.stream, index);
  }
}

void fill_initial(const Init& init, std::uint64_t seed, std::span<float> values) {
  const std::size_t half = values.size() / 2;
  switch (init.kind) {
    case Init::Kind::kZero:
      std::ranges::fill(values, 0.0F);
      break;
    case Init::Kind::kNormal:
      fill_normal(init, seed, values);
      break;
    case Init::Kind::kScaleShift:
      std::ranges::fill(values.first(half), 1.0F);
      std::ranges::fill(values.subspan(half), 0.0F);
      break;
    case Init::Kind::kRunningStats:
      std::ranges::fill(values.first(half), 0.0F);
      std::ranges::fill(values.subspan(half), 1.0F);
      break;
  }
}

}  // namespace

std::vector<TensorId> persistent_tensors(const Graph& graph) {
  std::vector<TensorId> found;
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (is_persistent(graph.tensor(id).role)) found.push_back(id);
  }
  return found;
}

std::span<float> ParameterAccess::stage(TensorId tensor) {
  plain_.resize(static_cast<std::size_t>(element_count(graph().tensor(tensor).shape)));
  return plain_;
}

Result<std::span<const float>> ParameterAccess::read(TensorId tensor) {
  stored_.resize(static_cast<std::size_t>(graph().tensor(tensor).bytes));
  SLUICE_RETURN_IF_ERROR(executor_.read_tensor(tensor, stored_));
  compiled_.to_plain(tensor, stored_.data(), stage(tensor));
  return std::span<const float>(plain_);
}

Status ParameterAccess::write(TensorId tensor) {
  stored_.resize(static_cast<std::size_t>(graph().tensor(tensor).bytes));
  compiled_.from_plain(tensor, plain_, stored_.data());
  return executor_.write_tensor(tensor, stored_);
}

Status initialise_parameters(ParameterAccess& access, std::uint64_t seed) {
  for (const TensorId tensor : persistent_tensors(access.graph())) {
    fill_initial(access.graph().tensor(tensor).init, seed, access.stage(tensor));
    SLUICE_RETURN_IF_ERROR(access.write(tensor));
  }
  return {};
}

Result<std::string> parameter_hash(ParameterAccess& access) {
  Hasher hasher;
  for (const TensorId tensor : persistent_tensors(access.graph())) {
    SLUICE_ASSIGN(const std::span<const float> values, access.read(tensor));
    hasher.add(std::as_bytes(values));
  }
  return hasher.hex();
}

}  // namespace sluice
