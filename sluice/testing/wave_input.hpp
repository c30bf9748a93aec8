// Step data for tests: waves in fp32 tensors, integers below each tensor's bound (hidden tokens with -1 among them).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "sluice/kernels/backend.hpp"

namespace sluice::testing {

class WaveInput : public kernels::InputSource {
 public:
  // Fills the outputs of the first op of `graph`.
  explicit WaveInput(const graph::Graph& graph) {
    for (const graph::TensorId id : graph.op(0).outputs) tensors_.push_back(graph.tensor(id));
  }

  Status fill(std::int64_t step, std::span<const std::span<std::byte>> tensors) override {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      for (std::size_t element = 0; 4 * element < tensors[i].size(); ++element) {
        if (tensors_.at(i).dtype == graph::DType::kI32) {
          put(tensors[i], element, integer(tensors_[i], step, element));
        } else {
          put(tensors[i], element, std::sin(static_cast<float>(element) * 12.9898F + static_cast<float>(step) * 78.2F));
        }
      }
    }
    return {};
  }

 private:
  static std::int32_t integer(const graph::Tensor& tensor, std::int64_t step, std::size_t element) {
    if (tensor.content == graph::Content::kHiddenTokens && element % 3 != 0) return -1;
    const auto value = 7 * static_cast<std::int64_t>(element) + step;
    return static_cast<std::int32_t>(value % std::max<std::int64_t>(1, tensor.bound));
  }
  template <typename T>
  static void put(std::span<std::byte> bytes, std::size_t element, T value) {
    std::memcpy(bytes.data() + 4 * element, &value, sizeof(T));
  }

  std::vector<graph::Tensor> tensors_;
};

}  // namespace sluice::testing
