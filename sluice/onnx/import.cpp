#include "sluice/onnx/import.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/text/utf8.hpp"
#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/given_weights.hpp"
#include "sluice/onnx/model/branches.hpp"
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

constexpr int kMostBranchRounds = 64;  // of branches within branches

// A model with its initializers and nodes, ready to be walked.
struct OpenModel {
  std::shared_ptr<::onnx::ModelProto> model;
  std::shared_ptr<const Initializers> initializers;
  Network network;
};

Result<OpenModel> open_model(const std::shared_ptr<::onnx::ModelProto>& model, const std::filesystem::path& path) {
  OpenModel opened;
  opened.model = model;
  SLUICE_ASSIGN(opened.initializers, Initializers::open(model, path));
  SLUICE_ASSIGN(opened.network, Network::of(model->graph()));
  merge_patterns(opened.network, *opened.initializers);
  return Result<OpenModel>(std::move(opened));
}

// With the branches that are taken in the place of every If whose condition is known, in a copy of the model where there
// is any: what is written back is the file's own.
Result<OpenModel> open_without_branches(const std::shared_ptr<::onnx::ModelProto>& model,
                                        const std::filesystem::path& path, const OnnxOptions& options,
                                        std::vector<std::string>& notes) {
  SLUICE_ASSIGN(OpenModel opened, open_model(model, path));
  const std::string output = model->graph().output_size() > 0 ? model->graph().output(0).name() : std::string();
  for (int round = 0; round < kMostBranchRounds; ++round) {
    const std::map<std::string, bool> conditions =
        known_conditions(*opened.model, path, opened.network, *opened.initializers, output, options);
    if (conditions.empty()) break;
    const auto changed = std::make_shared<::onnx::ModelProto>(*opened.model);
    for (const auto& [result, condition] : conditions) {
      notes.push_back(fmt::format("{}: its condition is known, and its {} branch is taken",
                                  Network::describe(*opened.network.maker(result)), condition ? "then" : "else"));
      SLUICE_RETURN_IF_ERROR(take_branch(*changed->mutable_graph(), result, condition));
    }
    SLUICE_ASSIGN(opened, open_model(changed, path));
  }
  return Result<OpenModel>(std::move(opened));
}

}  // namespace

Result<ImportedModel> import_model(const std::filesystem::path& path, const OnnxOptions& options) {
  SLUICE_ASSIGN(const std::shared_ptr<::onnx::ModelProto> model, read_model(path));
  const auto in_file = [&](Error error) {
    error.message = as_utf8(fmt::format("{}: {}", path.string(), error.message));  // attributes may be any bytes
    return error;
  };
  ImportedModel result;
  auto opened = open_without_branches(model, path, options, result.notes);
  if (!opened.ok()) return in_file(opened.error());
  const std::string logits = logits_name(opened->model->graph(), opened->network, options.loss, result);
  auto walked = walk_model(*opened->model, path, opened->network, *opened->initializers, logits, options);
  if (!walked.ok()) return in_file(walked.error());
  result.forward = std::move(walked->forward);
  result.sources = std::move(walked->sources);
  result.notes.insert(result.notes.end(), walked->notes.begin(), walked->notes.end());
  result.model = model;
  result.initializers = opened->initializers;
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
