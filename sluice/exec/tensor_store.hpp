// Who has the contents of persistent tensors between steps: an executor, or the memory of a run between two of them.
#pragma once

#include <cstddef>
#include <span>

#include "sluice/base/result.hpp"
#include "sluice/graph/ops/tensor.hpp"

namespace sluice::exec {

class TensorStore {
 public:
  virtual ~TensorStore() = default;

  // Contents of a persistent tensor between steps, or of an output after a step, in its executable layout.
  virtual Status read_tensor(graph::TensorId tensor, std::span<std::byte> bytes) = 0;
  virtual Status write_tensor(graph::TensorId tensor, std::span<const std::byte> bytes) = 0;
};

}  // namespace sluice::exec
