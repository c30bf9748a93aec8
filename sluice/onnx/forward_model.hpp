// Reads an ONNX file as what it computes, without a loss: every input that no initializer gives is data, every output
// stays. What ONNX's own tests of single ops are run by, and whoever wants the values rather than the training.
//
// Ops are those of training (converters.hpp), but batch norms use their running statistics and dropout is gone, unless
// a node says training_mode. Booleans are 0 and 1 in fp32, integers i32. Errors as of import.hpp.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/graph/given_values.hpp"
#include "sluice/graph/graph.hpp"
#include "sluice/onnx/arrays/host_array.hpp"

namespace sluice::onnx {

struct ForwardOutput {
  std::string name;                       // the model's
  std::optional<graph::TensorId> tensor;  // of the graph; nothing: `known`, whatever the data
  HostArray known;
};

struct InferenceModel {
  graph::Graph graph;               // its first op gives the data, if there are any
  std::vector<std::string> inputs;  // the model's names of that op's outputs, in its order
  std::vector<ForwardOutput> outputs;
  std::shared_ptr<const graph::GivenValues> values;  // of parameters and buffers
};

Result<InferenceModel> import_forward(const std::filesystem::path& path);

// Whether Sluice knows the op, at least of constants.
bool supports_onnx_op(const std::string& op_type);

}  // namespace sluice::onnx
