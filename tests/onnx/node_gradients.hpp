// Gradients of imported models: their ops behind an input op with one label, in front of a loss of an output's elements,
// differentiated and run on the reference backend.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sluice/testing/difference_check.hpp"
#include "tests/onnx/node_case.hpp"

namespace sluice::tests {

class LossOfOutput {
 public:
  // `output`: a tensor of the model.
  LossOfOutput(const onnx::InferenceModel& model, graph::TensorId output, const testing::NamedValues& weights);
  LossOfOutput(const LossOfOutput&) = delete;
  LossOfOutput& operator=(const LossOfOutput&) = delete;

  testing::DifferenceCheck& check() { return *check_; }
  float loss() const { return check_->base().at("loss")[0]; }
  // Of a parameter's update; nothing where the loss does not depend on it.
  std::optional<std::string> gradient_name(const std::string& parameter) const;

 private:
  class NoInput : public kernels::InputSource {
   public:
    Status fill(std::int64_t batch, std::span<const std::span<std::byte>> tensors) override;
  };

  graph::Graph graph_;
  NoInput input_;
  std::unique_ptr<testing::DifferenceCheck> check_;
};

// The gradient of a weight, named as in the file, of the loss of the first output's elements; empty on errors, which are
// failures of the test.
std::vector<float> gradient_of_weight(const std::filesystem::path& model, const std::string& weight);

}  // namespace sluice::tests
