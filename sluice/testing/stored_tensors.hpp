// Stand-ins for tests of code that reads and writes persistent tensors: a graph whose layout is not plain, and an
// executor that only stores.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sluice/exec/executor.hpp"
#include "sluice/kernels/backend.hpp"

namespace sluice::testing {

// A layout of its own: values stored last to first, so that code which skips the conversion is caught.
class ReversingGraph : public CompiledGraph {
 public:
  explicit ReversingGraph(Graph graph) : graph_(std::move(graph)) {}
  const Graph& graph() const override { return graph_; }
  Status run(OpIndex, std::span<void* const>, const StepContext&) override { return {}; }
  void to_plain(TensorId, const void* stored, std::span<float> plain) override {
    std::memcpy(plain.data(), stored, plain.size_bytes());
    std::reverse(plain.begin(), plain.end());
  }
  void from_plain(TensorId, std::span<const float> plain, void* stored) override {
    std::memcpy(stored, plain.data(), plain.size_bytes());
    auto* values = static_cast<float*>(stored);
    std::reverse(values, values + plain.size());
  }

 private:
  Graph graph_;
};

class MapExecutor : public Executor {
 public:
  Result<StepTimes> run_step(const StepContext&) override { return StepTimes{}; }
  Status read_tensor(TensorId tensor, std::span<std::byte> bytes) override {
    if (tensor == unreadable) return Error{ErrorCode::kIo, "a tensor that fails on purpose"};
    const auto& stored = tensors_.at(tensor);
    SLUICE_CHECK(stored.size() == bytes.size(), "a tensor is read as large as it was written");
    std::copy(stored.begin(), stored.end(), bytes.begin());
    return {};
  }
  Status write_tensor(TensorId tensor, std::span<const std::byte> bytes) override {
    tensors_[tensor].assign(bytes.begin(), bytes.end());
    ++writes;
    return {};
  }
  std::vector<std::string> notes() const override { return {}; }

  int writes = 0;
  std::optional<TensorId> unreadable;

 private:
  std::map<TensorId, std::vector<std::byte>> tensors_;
};

inline Tensor tensor_of(std::string name, Shape shape, Role role, Init init = {}) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.shape = std::move(shape);
  tensor.role = role;
  tensor.init = init;
  return tensor;
}

}  // namespace sluice::testing
