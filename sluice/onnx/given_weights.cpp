#include "sluice/onnx/given_weights.hpp"

#include <fmt/format.h>

namespace sluice::onnx {

Status GivenWeights::read(const std::string& source, std::int64_t first_element, std::span<float> values) const {
  const auto found = sources_.find(source);
  if (found == sources_.end()) {
    return Error{ErrorCode::kBadInput, fmt::format("the model's file has no values for '{}'", source)};
  }
  const ReadInitializer read = [&](const std::string& name, std::int64_t first, std::span<float> part) {
    return read_floats(*initializers_->find(name), first, part);
  };
  return evaluate_weights(*found->second, read, first_element, values);
}

}  // namespace sluice::onnx
