// The persistent tensors of a running step (parameters, optimizer state, running statistics) seen as row-major fp32:
// initial values, hashes and checkpoints.
//
// All of them go through one tensor's worth of staging memory at a time, because fast memory is what is scarce. Where
// ranks have parts of a tensor (graph/rewrite/partition_updates.hpp), each reads the whole, and writes its part of it: all
// ranks call alike, and nothing that comes out depends on how many they are.
// Between steps only; not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sluice/exec/tensor_store.hpp"
#include "sluice/graph/given_values.hpp"
#include "sluice/kernels/backend.hpp"

namespace sluice::train {

std::vector<graph::TensorId> persistent_tensors(const graph::Graph& graph);  // ascending

class ParameterAccess {
 public:
  // All must outlive this object. `ranks`: nullptr for one.
  ParameterAccess(kernels::CompiledGraph& compiled, exec::TensorStore& store, kernels::Ranks* ranks = nullptr)
      : compiled_(compiled), store_(store), ranks_(ranks) {}

  const graph::Graph& graph() const { return compiled_.graph(); }
  bool alone() const { return ranks_ == nullptr; }
  bool first_rank() const { return ranks_ == nullptr || ranks_->rank() == 0; }

  // The tensor's values, valid until the next call.
  Result<std::span<const float>> read(graph::TensorId tensor);
  // Room for the tensor's values, to be filled and then stored by write().
  std::span<float> stage(graph::TensorId tensor);
  Status write(graph::TensorId tensor);
  // Gives the staging memory back: twice the largest tensor, which steps would else carry along.
  void release();

 private:
  bool divided(graph::TensorId tensor) const { return ranks_ != nullptr && !graph().tensor(tensor).whole.empty(); }
  bool plain(graph::TensorId tensor) const;
  std::size_t own_begin(graph::TensorId tensor) const;  // in the whole
  std::span<float> own_part(graph::TensorId tensor);    // of plain_

  kernels::CompiledGraph& compiled_;
  exec::TensorStore& store_;
  kernels::Ranks* ranks_;
  std::vector<float> plain_, part_;
  std::vector<std::byte> stored_;
};

// The initial values of a tensor, or of its first elements. They depend on (seed, stream, element index), or come from
// `given` where `init` says so (nullptr: there are none).
Status fill_initial_values(const graph::Init& init, std::uint64_t seed, const graph::GivenValues* given,
                           std::span<float> values);

// The shape that a persistent tensor has for all ranks together.
const graph::Shape& whole_shape(const graph::Tensor& tensor);

// Gives every persistent tensor its initial values.
Status initialise_parameters(ParameterAccess& access, std::uint64_t seed, const graph::GivenValues* given = nullptr);

bool needs_given_values(const graph::Graph& graph);

// A parameter as the model calls it, or what its optimizer keeps of it.
struct WholeName {
  std::string parameter;
  std::string slot = {};  // Tensor::slot
};

// All of it, however the graph slices it. kBadInput when there is none of that name.
Result<std::vector<float>> read_whole(ParameterAccess& access, const WholeName& name);
// The same backwards. kMismatch when it has another number of values.
Status write_whole(ParameterAccess& access, const WholeName& name, std::span<const float> values);

// Hash over the values of all persistent tensors in tensor order: equal for equal bits, whatever plan or layout.
Result<std::string> parameter_hash(ParameterAccess& access);

}  // namespace sluice::train
