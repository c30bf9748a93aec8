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
class ReversingGraph : public kernels::CompiledGraph {
 public:
  explicit ReversingGraph(graph::Graph graph) : graph_(std::move(graph)) {}
  const graph::Graph& graph() const override { return graph_; }
  Status run(graph::OpIndex, std::span<void* const>, const kernels::StepContext&) override { return {}; }
  void to_plain(graph::TensorId, const void* stored, std::span<float> plain) override {
    std::memcpy(plain.data(), stored, plain.size_bytes());
    std::reverse(plain.begin(), plain.end());
  }
  void from_plain(graph::TensorId, std::span<const float> plain, void* stored) override {
    std::memcpy(stored, plain.data(), plain.size_bytes());
    auto* values = static_cast<float*>(stored);
    std::reverse(values, values + plain.size());
  }

 private:
  graph::Graph graph_;
};

class MapExecutor : public exec::Executor {
 public:
  Result<program::StepTimes> run_step(const kernels::StepContext&) override { return program::StepTimes{}; }
  Status read_tensor(graph::TensorId tensor, std::span<std::byte> bytes) override {
    ++reads;
    if (tensor == unreadable) return Error{ErrorCode::kIo, "a tensor that fails on purpose"};
    const auto& stored = tensors_.at(tensor);
    SLUICE_CHECK(stored.size() == bytes.size(), "a tensor is read as large as it was written");
    std::copy(stored.begin(), stored.end(), bytes.begin());
    return {};
  }
  Status write_tensor(graph::TensorId tensor, std::span<const std::byte> bytes) override {
    tensors_[tensor].assign(bytes.begin(), bytes.end());
    ++writes;
    return {};
  }
  std::vector<std::string> notes() const override { return {}; }

  int writes = 0, reads = 0;
  std::optional<graph::TensorId> unreadable;

 private:
  std::map<graph::TensorId, std::vector<std::byte>> tensors_;
};

inline graph::Tensor tensor_of(std::string name, graph::Shape shape, graph::Role role, graph::Init init = {}) {
  graph::Tensor tensor;
  tensor.name = std::move(name);
  tensor.shape = std::move(shape);
  tensor.role = role;
  tensor.init = init;
  return tensor;
}

}  // namespace sluice::testing
