// Makes small ONNX models in memory, for tests: no binary files needed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sluice/onnx/import.hpp"
#include "sluice/onnx/model/proto.hpp"

namespace sluice::tests {

class ModelMaker {
 public:
  explicit ModelMaker(std::int64_t opset = 15);

  ::onnx::ModelProto& proto() { return proto_; }

  // An extent of 0 is the open "N", -1 the open "sequence".
  void input(const std::string& name, const graph::Shape& shape, int type = ::onnx::TensorProto::FLOAT);
  void output(const std::string& name);
  // A float initializer; without values a ramp that differs from name to name. Returns it for changes.
  ::onnx::TensorProto& weights(const std::string& name, const graph::Shape& shape, std::vector<float> values = {});
  ::onnx::TensorProto& integers(const std::string& name, const std::vector<std::int64_t>& values);
  void number(const std::string& name, float value);  // a Constant node
  // A node named like its output, or `name`.
  ::onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs, const std::string& name = {});

  // The values of an initializer made by weights().
  std::vector<float> values(const std::string& name) const;

  // Written to a folder of this object, which is removed with it.
  std::filesystem::path write();
  const std::filesystem::path& folder() const { return folder_; }
  Result<onnx::OnnxModel> import(const onnx::OnnxOptions& options = {}) { return onnx::import_onnx(write(), options); }

  ~ModelMaker();
  ModelMaker(const ModelMaker&) = delete;
  ModelMaker& operator=(const ModelMaker&) = delete;

 private:
  ::onnx::ModelProto proto_;
  std::filesystem::path folder_;
};

void set(::onnx::NodeProto& node, const std::string& name, std::int64_t value);
void set(::onnx::NodeProto& node, const std::string& name, float value);
void set(::onnx::NodeProto& node, const std::string& name, const std::vector<std::int64_t>& values);
void set(::onnx::NodeProto& node, const std::string& name, const std::string& value);
void set(::onnx::NodeProto& node, const std::string& name, const ::onnx::GraphProto& value);

// Whole models, which several tests change.
void make_image_classifier(ModelMaker& maker);  // conv, batch norm, ReLU, pool, Gemm; images [N, 3, 8, 8], 10 classes
void make_language_model(ModelMaker& maker);    // tied embedding, layer norm, causal attention; ids [N, 6]
void make_lstm(ModelMaker& maker);              // one layer, time-major tokens [5, N]

std::vector<graph::OpKind> kinds(const graph::Graph& graph);
const graph::Tensor* find_tensor(const graph::Graph& graph, const std::string& name);
std::vector<float> given(const onnx::OnnxModel& model, const std::string& name);

}  // namespace sluice::tests
