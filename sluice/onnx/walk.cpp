#include "sluice/onnx/walk.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/onnx/convert/convert_nodes.hpp"
#include "sluice/onnx/loss.hpp"
#include "sluice/onnx/model/model_file.hpp"

namespace sluice::onnx {
namespace {

// Series and rows of features are images of one row or one pixel, except that rows of 28 x 28 or 3 x 32 x 32 features
// are what they look like.
graph::Shape image_shape(const graph::Shape& shape) {
  if (shape.size() == 4) return shape;
  if (shape.size() == 3) return {shape[0], shape[1], 1, shape[2]};
  if (shape[1] == 784) return {shape[0], 1, 28, 28};
  if (shape[1] == 3072) return {shape[0], 3, 32, 32};
  return {shape[0], shape[1], 1, 1};
}

// The input op; returns the labels, which come last where there is such a loss.
graph::TensorId bind_inputs(Conversion& conversion, const ModelInputs& inputs, const LossPlan* loss) {
  std::vector<graph::InputSpec> specs;
  for (const ModelInput& input : inputs.list) {
    if (input.content == graph::Content::kNone) continue;
    graph::InputSpec spec{input.name, input.content, input.shape, input.bound};
    if (input.content == graph::Content::kImages) spec.shape = image_shape(input.shape);
    if (input.time_major) spec.shape = {input.shape[1], input.shape[0]};
    if (input.content == graph::Content::kTokens && loss != nullptr) spec.content = loss->tokens;
    specs.push_back(std::move(spec));
  }
  if (loss != nullptr) specs.push_back(loss->labels);
  conversion.builder.begin_layer("input");
  const std::vector<graph::TensorId> ids = conversion.builder.inputs(specs);
  auto next = ids.begin();
  for (const ModelInput& input : inputs.list) {
    if (input.content == graph::Content::kNone) {
      conversion.set(input.name, array_value(input.constant));
      continue;
    }
    Value value = tensor_value(*next++);
    value.time_major = input.time_major;
    value.integral = !graph::is_float(input.content);
    if (input.content == graph::Content::kImages && !conversion.builder.failed()) {
      const bool same = conversion.builder.shape(value.tensor) == input.shape;
      if (!same) value.tensor = conversion.builder.reshape(value.tensor, input.shape);
    }
    conversion.set(input.name, value);
  }
  conversion.batch = inputs.batch;
  conversion.file_batch = inputs.file_batch;
  return ids.back();
}

Result<graph::TensorId> converted_logits(Conversion& conversion, const std::vector<const ::onnx::NodeProto*>& order,
                                         const std::string& logits) {
  if (conversion.builder.failed()) return conversion.builder.finish().error();
  SLUICE_RETURN_IF_ERROR(convert_nodes(conversion, order));
  const Value value = conversion.value(logits);
  if (value.kind != Value::Kind::kTensor) {
    return Error{ErrorCode::kBadInput, fmt::format("the first output '{}' does not depend on the data", logits)};
  }
  return conversion.tensor(value, logits);
}

void follow_options(Conversion& conversion, const std::vector<const ::onnx::NodeProto*>& order,
                    const OnnxOptions& options) {
  conversion.live = {order.begin(), order.end()};
  conversion.trained = options.trained;
  conversion.as_stated = options.given;
}

// What the second walk is told by the first, whose constants are gone by then.
struct Surveyed {
  graph::Shape logits;
  SharedInitializers shared;
};

}  // namespace

std::map<std::string, bool> known_conditions(const ::onnx::ModelProto& model, const std::filesystem::path& path,
                                             const Network& network, const Initializers& initializers,
                                             const std::string& logits, const OnnxOptions& options) {
  std::map<std::string, bool> known;
  const auto order = network.order_for(logits, initializers);
  if (!order.ok()) return known;
  const auto is_branch = [](const ::onnx::NodeProto* node) {
    return node->op_type() == "If" && node->input_size() == 1 && node->output_size() > 0;
  };
  if (std::ranges::none_of(*order, is_branch)) return known;
  Conversion survey(initializers, network, path, opset_of(model), model_name(path));
  follow_options(survey, *order, options);
  const auto inputs = find_inputs(model.graph(), network, initializers, survey.live, options);
  if (inputs.ok()) bind_inputs(survey, *inputs, nullptr);
  const Status converted = convert_nodes(survey, *order);  // as far as it goes: what is wrong is said later
  if (converted.ok()) return known;
  for (const ::onnx::NodeProto* node : *order) {
    if (!is_branch(node)) continue;
    const Value condition = survey.value(node->input(0));
    if (condition.kind != Value::Kind::kArray || condition.array->count() != 1) continue;
    known.emplace(node->output(0), condition.array->at(0) != 0);
  }
  return known;
}

Result<Walked> walk_model(const ::onnx::ModelProto& model, const std::filesystem::path& path, const Network& network,
                          const Initializers& initializers, const std::string& logits, const OnnxOptions& options) {
  SLUICE_ASSIGN(const std::vector<const ::onnx::NodeProto*> order, network.order_for(logits, initializers));
  const std::set<const ::onnx::NodeProto*> live(order.begin(), order.end());
  SLUICE_ASSIGN(const ModelInputs inputs, find_inputs(model.graph(), network, initializers, live, options));
  const std::int64_t opset = opset_of(model);
  const std::string name = model_name(path);

  const auto survey_it = [&]() -> Result<Surveyed> {
    Conversion survey(initializers, network, path, opset, name);
    follow_options(survey, order, options);
    bind_inputs(survey, inputs, nullptr);
    SLUICE_ASSIGN(const graph::TensorId seen, converted_logits(survey, order, logits));
    return Surveyed{survey.builder.shape(seen), survey.find_shared()};
  };
  SLUICE_ASSIGN(const Surveyed surveyed, survey_it());
  std::optional<LossPlan> loss;
  if (options.loss != OnnxLoss::kFirstOutput) {
    SLUICE_ASSIGN(loss, plan_loss(inputs, surveyed.logits, options.loss));
  } else if (graph::element_count(surveyed.logits) != 1) {
    return bad_input(fmt::format("the first output {} is not one number, and it is to be the loss",
                                 graph::to_string(surveyed.logits)));
  }

  Conversion conversion(initializers, network, path, opset, name);
  follow_options(conversion, order, options);
  conversion.shared = surveyed.shared;
  const graph::TensorId labels = bind_inputs(conversion, inputs, loss ? &*loss : nullptr);
  SLUICE_ASSIGN(const graph::TensorId made, converted_logits(conversion, order, logits));
  add_loss(conversion.builder, loss, made, labels);
  SLUICE_ASSIGN(graph::Graph forward, conversion.builder.finish());
  Walked walked{std::move(forward), std::move(conversion.sources), inputs.notes};
  walked.notes.insert(walked.notes.end(), conversion.notes.begin(), conversion.notes.end());
  return walked;
}

}  // namespace sluice::onnx
