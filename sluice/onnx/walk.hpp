// From the nodes of a model to a forward graph with a loss. It takes two walks: the labels come first, but they have
// the shape of the logits, which come last. The second walk also knows which weights are shared.
#pragma once

#include "sluice/onnx/model_inputs.hpp"

namespace sluice::onnx {

struct Walked {
  graph::Graph forward;
  ParameterSources sources;
  std::vector<std::string> notes;
};

// `logits`: the value that the loss is computed from, or the loss itself (OnnxLoss::kFirstOutput). Errors (kBadInput)
// list every node that cannot be converted.
Result<Walked> walk_model(const ::onnx::ModelProto& model, const std::filesystem::path& path, const Network& network,
                          const Initializers& initializers, const std::string& logits, const OnnxOptions& options);

// By the first output of each If that `logits` needs and whose condition is known: by a constant, or by shapes, which
// are all known here.
std::map<std::string, bool> known_conditions(const ::onnx::ModelProto& model, const std::filesystem::path& path,
                                             const Network& network, const Initializers& initializers,
                                             const std::string& logits, const OnnxOptions& options);

}  // namespace sluice::onnx
