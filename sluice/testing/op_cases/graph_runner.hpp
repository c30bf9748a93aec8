// Runs a compiled graph in the plainest way: one buffer per tensor, ops in order, nothing moves.
//
// Whatever planners and executors do, results must be the same as here. All buffers lie in one zeroed mapping
// (2 MiB pages where the kernel grants them), each aligned to 4 KiB. `shift` moves every buffer by that many bytes (a
// multiple of 4 KiB), for tests that results do not depend on addresses. Operands of an op may be redirected.
// One thread. Broken expectations throw (SLUICE_CHECK).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/kernels/backend.hpp"

namespace sluice::testing {

class GraphRunner {
 public:
  explicit GraphRunner(kernels::CompiledGraph& compiled, Bytes shift = 0);

  // Persistent tensors get their Tensor::init values.
  void initialise(std::uint64_t seed);

  void run_op(graph::OpIndex op, const kernels::StepContext& context);
  void run_step(const kernels::StepContext& context);

  std::vector<void*> operands(graph::OpIndex op) const;  // inputs, then outputs
  std::byte* data(graph::TensorId tensor) const { return memory_.get() + offsets_.at(as_index(tensor)); }
  std::span<const std::byte> bytes(graph::TensorId tensor) const;

  graph::TensorId find(std::string_view name) const;
  std::vector<float> plain(graph::TensorId tensor) const;
  void set_plain(graph::TensorId tensor, std::span<const float> values);

  kernels::CompiledGraph& compiled() const { return compiled_; }
  const graph::Graph& graph() const { return compiled_.graph(); }

 private:
  kernels::CompiledGraph& compiled_;
  std::vector<Bytes> offsets_;  // by TensorId
  std::shared_ptr<std::byte> memory_;
  std::shared_ptr<void> shared_;  // with the kernels' processor
};

}  // namespace sluice::testing
