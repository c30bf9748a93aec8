// Trained parameters back into a model's initializers.
#include <fmt/format.h>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/given_weights.hpp"
#include "sluice/onnx/import.hpp"
#include "sluice/onnx/model/model_file.hpp"

namespace sluice::onnx {
namespace {

// Whole initializers as they are in the file, of every parameter that has been trained.
Result<InitializerValues> current_values(const ImportedModel& model) {
  InitializerValues values;
  for (const auto& [name, weights] : model.sources) {
    std::set<std::string> initializers;
    weights->collect_initializers(initializers);
    for (const std::string& initializer : initializers) {
      const TensorSource& source = *model.initializers->find(initializer);
      std::vector<float>& whole = values[initializer];
      whole.resize(as_index(source.count));
      SLUICE_RETURN_IF_ERROR(read_floats(source, 0, whole));
    }
  }
  return values;
}

using Initializer = ::onnx::TensorProto;

// Those of branches of control flow, too.
void collect_initializers(::onnx::GraphProto& graph, std::vector<Initializer*>& found) {
  for (Initializer& tensor : *graph.mutable_initializer()) found.push_back(&tensor);
  for (::onnx::NodeProto& node : *graph.mutable_node()) {
    for (::onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) collect_initializers(*attribute.mutable_g(), found);
    }
  }
}

// Tensors stored beside the model are embedded, so that the copy stands alone wherever it is written.
Status embed_external(const Initializers& initializers, Initializer& tensor) {
  const TensorSource* source = initializers.find(tensor.name());
  if (source == nullptr || source->external.empty()) return {};
  SLUICE_ASSIGN(std::string bytes, read_bytes(*source));
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_raw_data(std::move(bytes));
  return {};
}

}  // namespace

Status export_onnx(const std::filesystem::path& source, const std::filesystem::path& target, const ReadParameter& read,
                   const OnnxOptions& options) {
  SLUICE_ASSIGN(const ImportedModel model, import_model(source, options));
  SLUICE_ASSIGN(InitializerValues values, current_values(model));
  for (const auto& [name, weights] : model.sources) {
    std::set<std::string> initializers;
    weights->collect_initializers(initializers);
    if (initializers.empty()) continue;  // a constant of the file
    SLUICE_ASSIGN(std::vector<float> trained, read(name));
    if (std::ssize(trained) != graph::element_count(weights->shape)) {
      return Error{ErrorCode::kMismatch,
                   fmt::format("parameter '{}' has {} values, but in {} it has the shape {}", name, trained.size(),
                               source.string(), graph::to_string(weights->shape))};
    }
    write_back_weights(*weights, std::move(trained), values);
  }
  ::onnx::ModelProto copy = *model.model;
  std::vector<Initializer*> initializers;
  collect_initializers(*copy.mutable_graph(), initializers);
  for (Initializer* const tensor : initializers) {
    SLUICE_RETURN_IF_ERROR(embed_external(*model.initializers, *tensor));
    const auto found = values.find(tensor->name());
    if (found != values.end()) write_floats(found->second, *tensor);
  }
  return write_model(target, copy);
}

}  // namespace sluice::onnx
