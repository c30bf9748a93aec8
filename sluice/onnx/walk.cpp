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

}  // namespace

Result<Walked> walk_model(const ::onnx::ModelProto& model, const std::filesystem::path& path, const Network& network,
                          const Initializers& initializers, const std::string& logits, const OnnxOptions& options) {
  SLUICE_ASSIGN(const std::vector<const ::onnx::NodeProto*> order, network.order_for(logits, initializers));
  const std::set<const ::onnx::NodeProto*> live(order.begin(), order.end());
  SLUICE_ASSIGN(const ModelInputs inputs, find_inputs(model.graph(), network, initializers, live, options));
  const std::int64_t opset = opset_of(model);
  const std::string name = path.stem().string();

  const auto follow = [&](Conversion& each) {
    each.live = live;
    each.trained = options.trained;
    each.as_stated = options.given;
  };

  Conversion survey(initializers, network, path, opset, name);
  follow(survey);
  bind_inputs(survey, inputs, nullptr);
  SLUICE_ASSIGN(const graph::TensorId seen, converted_logits(survey, order, logits));
  const graph::Shape shape = survey.builder.shape(seen);
  std::optional<LossPlan> loss;
  if (options.loss != OnnxLoss::kFirstOutput) {
    SLUICE_ASSIGN(loss, plan_loss(inputs, shape, options.loss));
  } else if (graph::element_count(shape) != 1) {
    return bad_input(
        fmt::format("the first output {} is not one number, and it is to be the loss", graph::to_string(shape)));
  }

  Conversion conversion(initializers, network, path, opset, name);
  follow(conversion);
  conversion.shared = survey.find_shared();
  const graph::TensorId labels = bind_inputs(conversion, inputs, loss ? &*loss : nullptr);
  SLUICE_ASSIGN(const graph::TensorId made, converted_logits(conversion, order, logits));
  add_loss(conversion.builder, loss, made, labels);
  SLUICE_ASSIGN(graph::Graph forward, conversion.builder.finish());
  Walked walked{std::move(forward), std::move(conversion.sources), inputs.notes};
  walked.notes.insert(walked.notes.end(), conversion.notes.begin(), conversion.notes.end());
  return walked;
}

}  // namespace sluice::onnx
