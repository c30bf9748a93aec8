#include "sluice/train/parameters/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/base/hash.hpp"
#include "sluice/base/parse.hpp"
#include "sluice/base/random.hpp"
#include "sluice/base/random_normals.hpp"
#include "sluice/graph/rewrite/half_parameters.hpp"

namespace sluice::train {
namespace {

void fill_normal(const graph::Init& init, std::uint64_t seed, std::span<float> values) {
  constexpr std::int64_t kPiece = 64 * 1024;
  const auto count = std::ssize(values);
#pragma omp parallel for schedule(static)
  for (std::int64_t begin = 0; begin < count; begin += kPiece) {
    const std::span<float> piece = values.subspan(as_index(begin), as_index(std::min(kPiece, count - begin)));
    fill_random_normals(seed, init.stream, static_cast<std::uint64_t>(init.first_element + begin), piece);
    for (float& value : piece) value *= init.stddev;
  }
}

void fill_uniform(const graph::Init& init, std::uint64_t seed, std::span<float> values) {
  const auto count = std::ssize(values);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::uint64_t>(init.first_element + i);
    values[as_index(i)] = init.stddev * (2 * random_uniform(seed, init.stream, index) - 1);
  }
}

void fill_halves(float first, float second, std::span<float> values) {
  const std::size_t half = values.size() / 2;
  std::ranges::fill(values.first(half), first);
  std::ranges::fill(values.subspan(half), second);
}

// The tensors that make up the parameter, or what the optimizer keeps of it, in order.
std::vector<graph::TensorId> slices_of(const graph::Graph& graph, const std::string& parameter, std::string_view slot) {
  std::vector<graph::TensorId> slices;
  for (const graph::TensorId id : persistent_tensors(graph)) {
    const graph::Tensor& tensor = graph.tensor(id);
    if (tensor.slot == slot && parameter_name(tensor) == parameter) slices.push_back(id);
  }
  std::ranges::sort(slices, {}, [&](graph::TensorId id) { return graph.tensor(id).part.rows.begin; });
  return slices;
}

// Of the master copy, where there is one.
Result<std::vector<graph::TensorId>> slices_of_whole(const graph::Graph& graph, const WholeName& whole) {
  std::vector<graph::TensorId> slices;
  if (whole.slot.empty()) slices = slices_of(graph, whole.parameter, graph::kMaster);
  if (slices.empty()) slices = slices_of(graph, whole.parameter, whole.slot);
  if (!slices.empty()) return slices;
  const std::string what = whole.slot.empty() ? "parameter " : "'" + whole.slot + "' of a parameter ";
  return Error{ErrorCode::kBadInput, fmt::format("{} has no {}'{}'", graph.name, what, whole.parameter)};
}

}  // namespace

Status fill_initial_values(const graph::Init& init, std::uint64_t seed, const graph::GivenValues* given,
                           std::span<float> values) {
  switch (init.kind) {
    case graph::Init::Kind::kZero:
      std::ranges::fill(values, 0.0F);
      break;
    case graph::Init::Kind::kNormal:
      fill_normal(init, seed, values);
      break;
    case graph::Init::Kind::kUniform:
      fill_uniform(init, seed, values);
      break;
    case graph::Init::Kind::kScaleShift:
      fill_halves(1, 0, values);
      break;
    case graph::Init::Kind::kRunningStats:
      fill_halves(0, 1, values);
      break;
    case graph::Init::Kind::kConstant:
      std::ranges::fill(values, init.stddev);
      break;
    case graph::Init::Kind::kGiven:
      SLUICE_CHECK(given != nullptr, "values came with the model for " + init.source);
      return given->read(init.source, init.first_element, values);
  }
  return {};
}

std::vector<graph::TensorId> persistent_tensors(const graph::Graph& graph) {
  std::vector<graph::TensorId> found;
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (graph::is_persistent(graph.tensor(id).role)) found.push_back(id);
  }
  return found;
}

const graph::Shape& whole_shape(const graph::Tensor& tensor) {
  return tensor.whole.empty() ? tensor.shape : tensor.whole;
}

std::span<float> ParameterAccess::stage(graph::TensorId tensor) {
  const graph::Tensor& staged = graph().tensor(tensor);
  plain_.resize(as_index(graph::element_count(divided(tensor) ? staged.whole : staged.shape)));
  return plain_;
}

std::size_t ParameterAccess::own_begin(graph::TensorId tensor) const {
  const auto part = as_index(graph::element_count(graph().tensor(tensor).shape));
  return std::min(part * as_index(ranks_->rank()), plain_.size());
}

// The rest of the last ranks' parts is zero.
std::span<float> ParameterAccess::own_part(graph::TensorId tensor) {
  part_.assign(as_index(graph::element_count(graph().tensor(tensor).shape)), 0.0F);
  return part_;
}

// Whether its bytes are those of row-major fp32, so that they need no second staging memory.
bool ParameterAccess::plain(graph::TensorId tensor) const {
  const graph::Tensor& stored = graph().tensor(tensor);
  const Bytes bytes = graph::element_count(stored.shape) * size_of(graph::DType::kF32);
  return !divided(tensor) && stored.dtype == graph::DType::kF32 && stored.layout == "plain" && stored.bytes == bytes;
}

Result<std::span<const float>> ParameterAccess::read(graph::TensorId tensor) {
  if (plain(tensor)) {
    SLUICE_RETURN_IF_ERROR(store_.read_tensor(tensor, std::as_writable_bytes(stage(tensor))));
    return std::span<const float>(plain_);
  }
  stored_.resize(as_index(graph().tensor(tensor).bytes));
  SLUICE_RETURN_IF_ERROR(store_.read_tensor(tensor, stored_));
  stage(tensor);
  if (!divided(tensor)) {
    compiled_.to_plain(tensor, stored_.data(), plain_);
    return std::span<const float>(plain_);
  }
  const std::span<float> part = own_part(tensor);
  compiled_.to_plain(tensor, stored_.data(), part);
  const std::size_t own = std::min(part.size(), plain_.size() - own_begin(tensor));
  SLUICE_RETURN_IF_ERROR(ranks_->gather(kernels::Channel::kBetweenSteps, std::as_bytes(part.first(own)),
                                        static_cast<Bytes>(part.size_bytes()),
                                        std::as_writable_bytes(std::span(plain_))));
  return std::span<const float>(plain_);
}

Status ParameterAccess::write(graph::TensorId tensor) {
  if (plain(tensor)) return store_.write_tensor(tensor, std::as_bytes(std::span(plain_)));
  stored_.resize(as_index(graph().tensor(tensor).bytes));
  std::span<const float> values = plain_;
  if (divided(tensor)) {
    const std::span<float> part = own_part(tensor);
    const std::size_t begin = own_begin(tensor), own = std::min(part.size(), plain_.size() - begin);
    std::ranges::copy(values.subspan(begin, own), part.begin());
    values = part;
  }
  compiled_.from_plain(tensor, values, stored_.data());
  return store_.write_tensor(tensor, stored_);
}

void ParameterAccess::release() {
  plain_ = {};
  part_ = {};
  stored_ = {};
}

Status initialise_parameters(ParameterAccess& access, std::uint64_t seed, const graph::GivenValues* given) {
  for (const graph::TensorId tensor : persistent_tensors(access.graph())) {
    SLUICE_RETURN_IF_ERROR(fill_initial_values(access.graph().tensor(tensor).init, seed, given, access.stage(tensor)));
    SLUICE_RETURN_IF_ERROR(access.write(tensor));
  }
  return {};
}

bool needs_given_values(const graph::Graph& graph) {
  return std::ranges::any_of(graph.tensors(), [](const graph::Tensor& tensor) {
    return graph::is_persistent(tensor.role) && tensor.init.kind == graph::Init::Kind::kGiven;
  });
}

Result<std::vector<float>> read_whole(ParameterAccess& access, const WholeName& name) {
  SLUICE_ASSIGN(const std::vector<graph::TensorId> slices, slices_of_whole(access.graph(), name));
  std::vector<float> whole;
  for (const graph::TensorId slice : slices) {
    SLUICE_ASSIGN(const std::span<const float> part, access.read(slice));
    whole.insert(whole.end(), part.begin(), part.end());
  }
  return whole;
}

Status write_whole(ParameterAccess& access, const WholeName& name, std::span<const float> values) {
  SLUICE_ASSIGN(const std::vector<graph::TensorId> slices, slices_of_whole(access.graph(), name));
  for (const graph::TensorId slice : slices) {
    const std::span<float> part = access.stage(slice);
    if (part.size() > values.size()) break;
    std::ranges::copy(values.first(part.size()), part.begin());
    values = values.subspan(part.size());
    SLUICE_RETURN_IF_ERROR(access.write(slice));
  }
  if (values.empty()) return {};
  return Error{ErrorCode::kMismatch,
               fmt::format("'{}' of {} has another number of values", name.parameter, access.graph().name)};
}

Result<std::string> parameter_hash(ParameterAccess& access) {
  Hasher hasher;
  for (const graph::TensorId tensor : persistent_tensors(access.graph())) {
    SLUICE_ASSIGN(const std::span<const float> values, access.read(tensor));
    hasher.add(std::as_bytes(values));
  }
  return hasher.hex();
}

}  // namespace sluice::train
