// Initial values from a model's file (graph/given_values.hpp), and what import and export share.
#pragma once

#include "sluice/graph/given_values.hpp"
#include "sluice/onnx/convert/conversion.hpp"
#include "sluice/onnx/import.hpp"

namespace sluice::onnx {

// Keeps the model's initializers as long as it lives. Thread safety: read() is safe from several threads.
class GivenWeights : public graph::GivenValues {
 public:
  GivenWeights(std::shared_ptr<const Initializers> initializers, ParameterSources sources)
      : initializers_(std::move(initializers)), sources_(std::move(sources)) {}

  Status read(const std::string& source, std::int64_t first_element, std::span<float> values) const override;

 private:
  std::shared_ptr<const Initializers> initializers_;
  ParameterSources sources_;
};

// A model as a graph, with what its parameters are made of.
struct ImportedModel {
  graph::Graph forward;
  ParameterSources sources;
  std::vector<std::string> notes;
  bool softmax_in_loss = false;               // the model's last op is a softmax, which the loss has inside
  std::shared_ptr<::onnx::ModelProto> model;  // as it is in the file
  std::shared_ptr<const Initializers> initializers;
};

Result<ImportedModel> import_model(const std::filesystem::path& path, const OnnxOptions& options);

}  // namespace sluice::onnx
