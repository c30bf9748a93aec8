#include "sluice/train/workload/workload_json.hpp"

#include <fmt/format.h>

#include "sluice/train/workload/onnx_workload.hpp"
#include "sluice/train/workload/precision.hpp"

namespace sluice::train {
namespace {

using nlohmann::json;

Status check_fields(const JsonReader& reader) {
  if (!reader.value().is_object()) return reader.error("expected an object");
  const json known = workload_to_json({});
  for (const auto& [name, value] : reader.value().items()) {
    if (!known.contains(name)) return reader.error(fmt::format("a workload has no field '{}'", name));
  }
  return {};
}

Status read_shape(const JsonReader& reader, models::ModelOptions& shape) {
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("batch", shape.batch));
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("image_size", shape.image_size));
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("classes", shape.classes));
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("sequence", shape.sequence));
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("width", shape.width));
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("depth", shape.depth));
  return reader.read_if_present("dropout", shape.dropout);
}

Status read_optimizer(const JsonReader& reader, graph::OptimizerOptions& optimizer) {
  bool keep_norm_outputs = optimizer.rematerialize == graph::Rematerialize::kNothing;
  if (reader.has("optimizer")) {
    SLUICE_RETURN_IF_ERROR(reader.read_parsed("optimizer", graph::parse_optimizer, optimizer.optimizer));
    graph::use_usual_hyperparameters(optimizer);
  }
  for (const graph::Optimizer each : graph::all_optimizers()) {
    for (const graph::Hyperparameter& hyperparameter : graph::optimizer_row(each).hyperparameters) {
      SLUICE_RETURN_IF_ERROR(
          reader.read_if_present(graph::field_of(hyperparameter).c_str(), optimizer.*hyperparameter.value));
    }
  }
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("delay_updates", optimizer.delayed));
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("clip_norm", optimizer.clip_norm));
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("accumulate", optimizer.accumulate));
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("ranks", optimizer.ranks));
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("loss_scale", optimizer.loss_scale));
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("keep_norm_outputs", keep_norm_outputs));
  optimizer.rematerialize = keep_norm_outputs ? graph::Rematerialize::kNothing : graph::Rematerialize::kCheap;
  return {};
}

json processors_to_json(const std::vector<kernels::ProcessorKernels>& processors) {
  json list = json::array();
  for (const kernels::ProcessorKernels& each : processors)
    list.push_back({{"threads", each.threads}, {"backend", each.backend}});
  return list;
}

Status read_other_processors(const JsonReader& reader, std::vector<kernels::ProcessorKernels>& processors) {
  if (!reader.has("other_processors")) return {};
  SLUICE_ASSIGN(const std::vector<JsonReader> list, reader.list("other_processors"));
  for (const JsonReader& each : list) {
    kernels::ProcessorKernels& processor = processors.emplace_back();
    SLUICE_RETURN_IF_ERROR(each.read("threads", processor.threads));
    SLUICE_RETURN_IF_ERROR(each.read_if_present("backend", processor.backend));
  }
  return {};
}

}  // namespace

json workload_to_json(const WorkloadOptions& options) {
  const models::ModelOptions& shape = options.shape;
  const graph::OptimizerOptions& optimizer = options.optimizer;
  json document{{"model", options.model},
                {"onnx", options.onnx.string()},
                {"loss", to_string(options.onnx_loss)},
                {"batch", shape.batch},
                {"image_size", shape.image_size},
                {"classes", shape.classes},
                {"sequence", shape.sequence},
                {"width", shape.width},
                {"depth", shape.depth},
                {"dropout", shape.dropout},
                {"optimizer", graph::to_string(optimizer.optimizer)},
                {"delay_updates", optimizer.delayed},
                {"clip_norm", optimizer.clip_norm},
                {"accumulate", optimizer.accumulate},
                {"ranks", optimizer.ranks},
                {"loss_scale", optimizer.loss_scale},
                {"keep_norm_outputs", optimizer.rematerialize == graph::Rematerialize::kNothing},
                {"precision", to_string(options.precision)},
                {"finer_slices", options.finer_slices},
                {"threads", options.threads},
                {"backend", options.backend},
                {"other_processors", processors_to_json(options.other_processors)}};
  for (const graph::Optimizer each : graph::all_optimizers()) {
    for (const graph::Hyperparameter& hyperparameter : graph::optimizer_row(each).hyperparameters)
      document[graph::field_of(hyperparameter)] = optimizer.*hyperparameter.value;
  }
  return document;
}

Status read_json(const JsonReader& reader, WorkloadOptions& options) {
  std::string onnx;
  SLUICE_RETURN_IF_ERROR(check_fields(reader));
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("model", options.model));
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("onnx", onnx));
  options.onnx = onnx;
  if (reader.has("loss")) SLUICE_RETURN_IF_ERROR(reader.read_parsed("loss", parse_onnx_loss, options.onnx_loss));
  SLUICE_RETURN_IF_ERROR(read_shape(reader, options.shape));
  SLUICE_RETURN_IF_ERROR(read_optimizer(reader, options.optimizer));
  if (reader.has("precision")) {
    SLUICE_RETURN_IF_ERROR(reader.read_parsed("precision", parse_precision, options.precision));
  }
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("finer_slices", options.finer_slices));
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("threads", options.threads));
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("backend", options.backend));
  return read_other_processors(reader, options.other_processors);
}

Result<WorkloadOptions> workload_from_json(const json& document) {
  WorkloadOptions options;
  const Status read = read_json(JsonReader(document), options);
  if (read.ok()) return options;
  return Error{read.error().code, fmt::format("not a workload: {}", read.error().message)};
}

}  // namespace sluice::train
