#include "sluice/onnx/forward_model.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/text/utf8.hpp"
#include "sluice/onnx/convert/convert_nodes.hpp"
#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/given_weights.hpp"
#include "sluice/onnx/model/element_type.hpp"
#include "sluice/onnx/model/model_file.hpp"

namespace sluice::onnx {
namespace {

using Order = std::vector<const ::onnx::NodeProto*>;

// What all outputs need, each node once.
Result<Order> order_of(const ::onnx::GraphProto& graph, const Network& network, const Initializers& initializers) {
  Order order;
  std::set<const ::onnx::NodeProto*> seen;
  for (const ::onnx::ValueInfoProto& output : graph.output()) {
    if (network.maker(output.name()) == nullptr) continue;
    SLUICE_ASSIGN(const Order needed, network.order_for(output.name(), initializers));
    for (const ::onnx::NodeProto* node : needed) {
      if (seen.insert(node).second) order.push_back(node);
    }
  }
  return order;
}

Result<graph::Shape> stated_shape(const ::onnx::ValueInfoProto& input) {
  graph::Shape shape;
  if (!input.type().has_tensor_type()) return bad_input(fmt::format("input '{}' is no tensor", input.name()));
  for (const auto& extent : input.type().tensor_type().shape().dim()) {
    if (extent.dim_value() < 1) return bad_input(fmt::format("input '{}' has an open extent", input.name()));
    shape.push_back(extent.dim_value());
  }
  if (!checked_count(shape)) return bad_input(fmt::format("input '{}' is too large", input.name()));
  return shape.empty() ? graph::Shape{1} : shape;
}

Status bind_data(Conversion& conversion, const ::onnx::GraphProto& graph, std::vector<std::string>& names) {
  std::vector<graph::InputSpec> specs;
  std::vector<bool> integral;
  for (const ::onnx::ValueInfoProto& input : graph.input()) {
    if (conversion.initializers.find(input.name()) != nullptr) continue;
    SLUICE_ASSIGN(const graph::Shape shape, stated_shape(input));
    const int type = input.type().tensor_type().elem_type();
    const bool real = is_floating_type(type) || type == ::onnx::TensorProto::BOOL;
    specs.push_back({input.name(), real ? graph::Content::kNoise : graph::Content::kTokens, shape, 0});
    names.push_back(input.name());
    integral.push_back(!is_floating_type(type));
  }
  conversion.builder.begin_layer("input");
  if (specs.empty()) return {};
  const std::vector<graph::TensorId> ids = conversion.builder.inputs(specs);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Value value = tensor_value(ids[i]);
    value.integral = integral[i];
    conversion.set(names[i], value);
  }
  return {};
}

Result<std::vector<ForwardOutput>> outputs_of(Conversion& conversion, const ::onnx::GraphProto& graph) {
  std::vector<ForwardOutput> outputs;
  for (const ::onnx::ValueInfoProto& named : graph.output()) {
    ForwardOutput output{named.name(), std::nullopt, {}};
    const Value value = conversion.value(named.name());
    if (value.kind == Value::Kind::kUnknown) {
      return bad_input(fmt::format("output '{}' is not made", named.name()));
    }
    if (value.kind == Value::Kind::kArray) {
      output.known = *value.array;
    } else {
      SLUICE_ASSIGN(output.tensor, conversion.tensor(value, named.name()));
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

Result<InferenceModel> forward_of(const std::filesystem::path& path, const std::shared_ptr<::onnx::ModelProto>& model) {
  SLUICE_ASSIGN(std::shared_ptr<const Initializers> initializers, Initializers::open(model, path));
  SLUICE_ASSIGN(const Network network, Network::of(model->graph()));
  SLUICE_ASSIGN(const Order order, order_of(model->graph(), network, *initializers));
  const std::string name = model_name(path);
  InferenceModel result;
  Conversion survey(*initializers, network, path, opset_of(*model), name);
  Conversion conversion(*initializers, network, path, opset_of(*model), name);
  for (Conversion* walk : {&survey, &conversion}) {
    walk->infers = true;
    walk->live = {order.begin(), order.end()};
    for (const ::onnx::ValueInfoProto& output : model->graph().output()) walk->wanted.insert(output.name());
    if (walk == &conversion) walk->shared = survey.find_shared();
    result.inputs.clear();
    SLUICE_RETURN_IF_ERROR(bind_data(*walk, model->graph(), result.inputs));
    SLUICE_RETURN_IF_ERROR(convert_nodes(*walk, order));
  }
  SLUICE_ASSIGN(result.outputs, outputs_of(conversion, model->graph()));
  SLUICE_ASSIGN(result.graph, conversion.builder.finish_without_loss());
  result.values = std::make_shared<GivenWeights>(std::move(initializers), std::move(conversion.sources));
  return result;
}

}  // namespace

Result<InferenceModel> import_forward(const std::filesystem::path& path) {
  SLUICE_ASSIGN(const std::shared_ptr<::onnx::ModelProto> model, read_model(path));
  auto result = forward_of(path, model);
  if (result.ok()) return result;
  return Error{result.error().code, as_utf8(fmt::format("{}: {}", path.string(), result.error().message))};
}

bool supports_onnx_op(const std::string& op_type) { return find_converter(op_type) != nullptr || is_folded(op_type); }

}  // namespace sluice::onnx
