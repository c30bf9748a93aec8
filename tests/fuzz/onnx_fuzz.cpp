#include "sluice/base/text/utf8.hpp"
#include "sluice/onnx/forward_model.hpp"
#include "sluice/onnx/import.hpp"
#include "tests/fuzz/fuzz_targets.hpp"
#include "tests/fuzz/input_file.hpp"

namespace sluice::tests {

void fuzz_onnx(std::string_view input) {
  const std::filesystem::path path = input_file(input, "model.onnx");
  const Result<onnx::OnnxModel> model = onnx::import_onnx(path, {.batch = 2});
  const auto explained = [](const Error& error) { return !error.message.empty() && is_utf8(error.message); };
  SLUICE_CHECK(model.ok() || explained(model.error()), "a model or an error");
  if (model.ok()) {
    for (const graph::Tensor& tensor : model->forward.tensors()) SLUICE_CHECK(tensor.bytes >= 0, tensor.name);
  }
  const Result<onnx::InferenceModel> forward = onnx::import_forward(path);
  SLUICE_CHECK(forward.ok() || explained(forward.error()), "a model or an error");
}

}  // namespace sluice::tests
