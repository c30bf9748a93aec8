#include "tests/onnx/model_maker.hpp"

#include <cstring>
#include <fstream>
#include <numeric>

#include "sluice/base/check.hpp"

namespace sluice::tests {
namespace {

constexpr float kFirstHidden = -1e9F;

void add_dimension(::onnx::TensorShapeProto& shape, std::int64_t extent) {
  ::onnx::TensorShapeProto_Dimension& dimension = *shape.add_dim();
  if (extent > 0) dimension.set_dim_value(extent);
  if (extent == 0) dimension.set_dim_param("N");
  if (extent < 0) dimension.set_dim_param("sequence");
}

::onnx::AttributeProto& attribute(::onnx::NodeProto& node, const std::string& name,
                                  ::onnx::AttributeProto::AttributeType type) {
  ::onnx::AttributeProto& made = *node.add_attribute();
  made.set_name(name);
  made.set_type(type);
  return made;
}

}  // namespace

ModelMaker::ModelMaker(std::int64_t opset) {
  proto_.set_ir_version(8);
  proto_.add_opset_import()->set_version(opset);
  proto_.mutable_graph()->set_name("test");
  std::string pattern = (std::filesystem::temp_directory_path() / "sluice_onnx_XXXXXX").string();
  SLUICE_CHECK(mkdtemp(pattern.data()) != nullptr, "cannot make a folder for tests");
  folder_ = pattern;
}

ModelMaker::~ModelMaker() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void ModelMaker::input(const std::string& name, const graph::Shape& shape, int type) {
  ::onnx::ValueInfoProto& info = *proto_.mutable_graph()->add_input();
  info.set_name(name);
  ::onnx::TypeProto_Tensor& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape();
  for (const std::int64_t extent : shape) add_dimension(*tensor.mutable_shape(), extent);
}

void ModelMaker::output(const std::string& name) { proto_.mutable_graph()->add_output()->set_name(name); }

::onnx::TensorProto& ModelMaker::weights(const std::string& name, const graph::Shape& shape,
                                         std::vector<float> values) {
  ::onnx::TensorProto& tensor = *proto_.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(::onnx::TensorProto::FLOAT);
  for (const std::int64_t extent : shape) tensor.add_dims(extent);
  if (values.empty()) {
    values.resize(static_cast<std::size_t>(graph::element_count(shape)));
    std::iota(values.begin(), values.end(), static_cast<float>(name.size()));
    for (float& value : values) value *= 0.01F;
  }
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  return tensor;
}

::onnx::TensorProto& ModelMaker::integers(const std::string& name, const std::vector<std::int64_t>& values) {
  ::onnx::TensorProto& tensor = *proto_.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(::onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<std::int64_t>(values.size()));
  for (const std::int64_t value : values) tensor.add_int64_data(value);
  return tensor;
}

void ModelMaker::number(const std::string& name, float value) {
  ::onnx::NodeProto& made = node("Constant", {}, {name});
  ::onnx::TensorProto& tensor = *attribute(made, "value", ::onnx::AttributeProto::TENSOR).mutable_t();
  tensor.set_data_type(::onnx::TensorProto::FLOAT);
  tensor.add_float_data(value);
}

::onnx::NodeProto& ModelMaker::node(const std::string& op, const std::vector<std::string>& inputs,
                                    const std::vector<std::string>& outputs, const std::string& name) {
  ::onnx::NodeProto& made = *proto_.mutable_graph()->add_node();
  made.set_op_type(op);
  made.set_name(name.empty() ? outputs.at(0) : name);
  for (const std::string& input : inputs) made.add_input(input);
  for (const std::string& output : outputs) made.add_output(output);
  return made;
}

std::vector<float> ModelMaker::values(const std::string& name) const {
  for (const ::onnx::TensorProto& tensor : proto_.graph().initializer()) {
    if (tensor.name() != name) continue;
    std::vector<float> result(tensor.raw_data().size() / sizeof(float));
    std::memcpy(result.data(), tensor.raw_data().data(), tensor.raw_data().size());
    return result;
  }
  return {};
}

std::filesystem::path ModelMaker::write() {
  const std::filesystem::path path = folder_ / "model.onnx";
  std::ofstream file(path, std::ios::binary);
  SLUICE_CHECK(proto_.SerializeToOstream(&file), "cannot write " + path.string());
  return path;
}

void set(::onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  attribute(node, name, ::onnx::AttributeProto::INT).set_i(value);
}

void set(::onnx::NodeProto& node, const std::string& name, float value) {
  attribute(node, name, ::onnx::AttributeProto::FLOAT).set_f(value);
}

void set(::onnx::NodeProto& node, const std::string& name, const std::vector<std::int64_t>& values) {
  ::onnx::AttributeProto& made = attribute(node, name, ::onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) made.add_ints(value);
}

void set(::onnx::NodeProto& node, const std::string& name, const std::string& value) {
  attribute(node, name, ::onnx::AttributeProto::STRING).set_s(value);
}

void set(::onnx::NodeProto& node, const std::string& name, const ::onnx::GraphProto& value) {
  *attribute(node, name, ::onnx::AttributeProto::GRAPH).mutable_g() = value;
}

void make_image_classifier(ModelMaker& maker) {
  maker.input("images", {0, 3, 8, 8});
  maker.weights("conv.weight", {4, 3, 3, 3});
  set(maker.node("Conv", {"images", "conv.weight"}, {"conv"}), "pads", std::vector<std::int64_t>{1, 1, 1, 1});
  for (const char* name : {"bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"}) maker.weights(name, {4});
  maker.node("BatchNormalization", {"conv", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"}, {"bn"});
  maker.node("Relu", {"bn"}, {"relu"});
  maker.node("GlobalAveragePool", {"relu"}, {"pool"});
  maker.node("Flatten", {"pool"}, {"flat"});
  maker.weights("fc.weight", {10, 4});
  maker.weights("fc.bias", {10});
  set(maker.node("Gemm", {"flat", "fc.weight", "fc.bias"}, {"logits"}), "transB", std::int64_t{1});
  maker.output("logits");
}

void make_language_model(ModelMaker& maker) {
  maker.input("ids", {0, 6}, ::onnx::TensorProto::INT64);
  maker.weights("table", {20, 8});
  maker.node("Gather", {"table", "ids"}, {"x"});
  maker.weights("w", {8, 8});
  maker.node("MatMul", {"x", "w"}, {"q"});
  set(maker.node("Transpose", {"x"}, {"k"}), "perm", std::vector<std::int64_t>{0, 2, 1});
  maker.node("MatMul", {"q", "k"}, {"scores"});
  std::vector<float> mask(36, 0.0F);
  for (std::size_t i = 0; i < 36; ++i) mask[i] = i % 6 > i / 6 ? kFirstHidden : 0.0F;
  maker.weights("mask", {6, 6}, mask);
  maker.node("Add", {"scores", "mask"}, {"masked"});
  set(maker.node("Softmax", {"masked"}, {"attention"}), "axis", std::int64_t{-1});
  maker.node("MatMul", {"attention", "x"}, {"y"});
  set(maker.node("Transpose", {"table"}, {"table_t"}), "perm", std::vector<std::int64_t>{1, 0});
  maker.node("MatMul", {"y", "table_t"}, {"logits"});
  maker.output("logits");
}

void make_lstm(ModelMaker& maker) {
  maker.input("tokens", {5, 0}, ::onnx::TensorProto::INT64);
  maker.weights("table", {12, 3});
  maker.node("Gather", {"table", "tokens"}, {"x"});
  maker.weights("w", {1, 8, 3});
  maker.weights("r", {1, 8, 2});
  maker.weights("b", {1, 16});
  set(maker.node("LSTM", {"x", "w", "r", "b"}, {"y"}, "lstm"), "hidden_size", std::int64_t{2});
  maker.integers("axis", {1});
  maker.node("Squeeze", {"y", "axis"}, {"h"});
  maker.weights("out", {2, 12});
  maker.node("MatMul", {"h", "out"}, {"logits"});
  maker.output("logits");
}

std::vector<graph::OpKind> kinds(const graph::Graph& graph) {
  std::vector<graph::OpKind> result;
  for (const graph::Op& op : graph.ops()) result.push_back(op.kind);
  return result;
}

const graph::Tensor* find_tensor(const graph::Graph& graph, const std::string& name) {
  for (const graph::Tensor& tensor : graph.tensors()) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

std::vector<float> given(const onnx::OnnxModel& model, const std::string& name) {
  const graph::Tensor* tensor = find_tensor(model.forward, name);
  SLUICE_CHECK(tensor != nullptr, "no tensor " + name);
  std::vector<float> values(static_cast<std::size_t>(graph::element_count(tensor->shape)));
  const Status read = model.values->read(tensor->init.source, 0, values);
  SLUICE_CHECK(read.ok(), read.error().message);
  return values;
}

}  // namespace sluice::tests
