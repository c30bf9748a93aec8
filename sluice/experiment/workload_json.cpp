#include "sluice/experiment/workload_json.hpp"

#include <fmt/format.h>

#include "sluice/train/onnx_workload.hpp"
#include "sluice/train/precision.hpp"

namespace sluice {
namespace {

using nlohmann::json;

Status check_fields(const json& document) {
  const json known = workload_to_json({});
  for (const auto& [name, value] : document.items()) {
    if (!known.contains(name)) {
      return Error{ErrorCode::kBadInput, fmt::format("a workload has no field '{}'", name)};
    }
  }
  return {};
}

}  // namespace

json workload_to_json(const WorkloadOptions& options) {
  const ModelOptions& shape = options.shape;
  const OptimizerOptions& optimizer = options.optimizer;
  return {{"model", options.model},
          {"onnx", options.onnx.string()},
          {"loss", to_string(options.onnx_loss)},
          {"batch", shape.batch},
          {"image_size", shape.image_size},
          {"classes", shape.classes},
          {"sequence", shape.sequence},
          {"width", shape.width},
          {"depth", shape.depth},
          {"dropout", shape.dropout},
          {"optimizer", to_string(optimizer.optimizer)},
          {"momentum", optimizer.momentum},
          {"beta2", optimizer.beta2},
          {"epsilon", optimizer.epsilon},
          {"weight_decay", optimizer.weight_decay},
          {"keep_norm_outputs", !optimizer.recompute_cheap},
          {"precision", to_string(options.precision)},
          {"threads", options.threads}};
}

Result<WorkloadOptions> workload_from_json(const json& document) {
  try {
    SLUICE_RETURN_IF_ERROR(check_fields(document));
    json all = workload_to_json({});
    all.update(document);
    WorkloadOptions options;
    options.model = all.at("model");
    options.onnx = all.at("onnx").get<std::string>();
    SLUICE_ASSIGN(options.onnx_loss, parse_onnx_loss(all.at("loss").get<std::string>()));
    options.shape = {all.at("batch"), all.at("image_size"), all.at("classes"), all.at("sequence"),
                     all.at("width"), all.at("depth"),      all.at("dropout")};
    SLUICE_ASSIGN(options.optimizer.optimizer, parse_optimizer(all.at("optimizer").get<std::string>()));
    options.optimizer.momentum = all.at("momentum");
    options.optimizer.beta2 = all.at("beta2");
    options.optimizer.epsilon = all.at("epsilon");
    options.optimizer.weight_decay = all.at("weight_decay");
    options.optimizer.recompute_cheap = !all.at("keep_norm_outputs").get<bool>();
    SLUICE_ASSIGN(options.precision, parse_precision(all.at("precision").get<std::string>()));
    options.threads = all.at("threads");
    return options;
  } catch (const json::exception& failure) {
    return Error{ErrorCode::kBadInput, fmt::format("not a workload: {}", failure.what())};
  }
}

}  // namespace sluice
