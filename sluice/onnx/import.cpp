#include "sluice/onnx/import.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/given_weights.hpp"
#include "sluice/onnx/model/model_file.hpp"
#include "sluice/onnx/model/patterns.hpp"
#include "sluice/onnx/model_inputs.hpp"
#include "sluice/onnx/walk.hpp"

namespace sluice::onnx {
namespace {

// The value that the loss is computed from: the first output, or what it was before a last softmax, which a loss of ours
// has inside.
std::string logits_name(const ::onnx::GraphProto& graph, const Network& network, OnnxLoss loss, ImportedModel& result) {
  std::string name = graph.output_size() > 0 ? graph.output(0).name() : std::string();
  for (int i = 1; i < graph.output_size(); ++i) {
    result.notes.push_back(
        fmt::format("output '{}' has no loss; what only it needs is left out", graph.output(i).name()));
  }
  const ::onnx::NodeProto* last = network.maker(name);
  const bool softmax = last != nullptr && (last->op_type() == "Softmax" || last->op_type() == "LogSoftmax");
  if (softmax && last->input_size() == 1 && loss != OnnxLoss::kFirstOutput) {
    result.notes.push_back(fmt::format("{} is part of the loss", Network::describe(*last)));
    result.softmax_in_loss = last->op_type() == "Softmax";
    name = last->input(0);
  }
  return name;
}

}  // namespace

Result<ImportedModel> import_model(const std::filesystem::path& path, const OnnxOptions& options) {
  SLUICE_ASSIGN(const std::shared_ptr<::onnx::ModelProto> model, read_model(path));
  const auto in_file = [&](const Error& error) {
    return Error{error.code, fmt::format("{}: {}", path.string(), error.message)};
  };
  auto initializers = Initializers::open(model, path);
  if (!initializers.ok()) return in_file(initializers.error());
  auto network = Network::of(model->graph());
  if (!network.ok()) return in_file(network.error());
  merge_patterns(*network, **initializers);
  ImportedModel result;
  const std::string logits = logits_name(model->graph(), *network, options.loss, result);
  auto walked = walk_model(*model, path, *network, **initializers, logits, options);
  if (!walked.ok()) return in_file(walked.error());
  result.forward = std::move(walked->forward);
  result.sources = std::move(walked->sources);
  result.notes.insert(result.notes.end(), walked->notes.begin(), walked->notes.end());
  result.model = model;
  result.initializers = *initializers;
  return result;
}

Result<OnnxModel> import_onnx(const std::filesystem::path& path, const OnnxOptions& options) {
  SLUICE_ASSIGN(ImportedModel imported, import_model(path, options));
  OnnxModel result;
  result.forward = std::move(imported.forward);
  result.opset = opset_of(*imported.model);
  result.notes = std::move(imported.notes);
  result.values = std::make_shared<GivenWeights>(std::move(imported.initializers), std::move(imported.sources));
  return result;
}

}  // namespace sluice::onnx
