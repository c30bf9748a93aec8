// The arrays that a node of constants is folded from.
#pragma once

#include <memory>
#include <vector>

#include "sluice/onnx/arrays/host_array.hpp"

namespace sluice::onnx {

// The inputs of a node, which nobody copies: they may be large and many.
class FoldInputs {
 public:
  void push_back(std::shared_ptr<const HostArray> array) { arrays_.push_back(std::move(array)); }
  std::size_t size() const { return arrays_.size(); }
  const HostArray& operator[](std::size_t i) const { return *arrays_[i]; }
  std::vector<const HostArray*> all() const {
    std::vector<const HostArray*> found;
    for (const auto& array : arrays_) found.push_back(array.get());
    return found;
  }

 private:
  std::vector<std::shared_ptr<const HostArray>> arrays_;
};

}  // namespace sluice::onnx
