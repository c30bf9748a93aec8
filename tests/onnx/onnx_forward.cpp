// onnx_forward MODEL eval|train BATCH OUTPUT INPUT...
//
// Runs an ONNX model forward on given data through the oneDNN backend and writes its logits: what
// benchmarks/rivals/check_onnx.py compares with PyTorch. Files are raw row-major float32 (images) or int32 (tokens).
// `eval` uses running statistics and no dropout; `train` the batch's own statistics, as a training step does.
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>

#include "sluice/graph/rewrite/prepare.hpp"
#include "sluice/kernels/backends/backends.hpp"
#include "sluice/onnx/import.hpp"

namespace sluice::tests {
namespace {

// The files, in the order of the input op; labels, which have no file, are zero.
class FileInput : public kernels::InputSource {
 public:
  explicit FileInput(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  Status fill(std::int64_t /*step*/, std::span<const std::span<std::byte>> tensors) override {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      std::memset(tensors[i].data(), 0, tensors[i].size());
      if (i >= paths_.size()) continue;
      std::ifstream file(paths_[i], std::ios::binary);
      if (!file.read(reinterpret_cast<char*>(tensors[i].data()), static_cast<std::streamsize>(tensors[i].size()))) {
        return Error{ErrorCode::kIo, paths_[i] + " has fewer than " + std::to_string(tensors[i].size()) + " bytes"};
      }
    }
    return {};
  }

 private:
  std::vector<std::string> paths_;
};

// One buffer a tensor, made when an op first needs it.
class Buffers {
 public:
  Buffers(kernels::CompiledGraph& compiled, const graph::GivenValues& values) : compiled_(compiled), values_(values) {
    buffers_.resize(static_cast<std::size_t>(compiled.graph().tensor_count()));
  }

  Result<void*> at(graph::TensorId id) {
    auto& buffer = buffers_[static_cast<std::size_t>(id)];
    if (buffer != nullptr) return static_cast<void*>(buffer.get());
    const graph::Tensor& tensor = compiled_.graph().tensor(id);
    const auto size = static_cast<std::size_t>(align_up(std::max<Bytes>(tensor.bytes, 1), kAlignment));
    buffer.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, size)));
    std::memset(buffer.get(), 0, size);
    if (tensor.init.kind == graph::Init::Kind::kGiven) {
      std::vector<float> plain(static_cast<std::size_t>(graph::element_count(tensor.shape)));
      SLUICE_RETURN_IF_ERROR(values_.read(tensor.init.source, tensor.init.first_element, plain));
      compiled_.from_plain(id, plain, buffer.get());
    }
    return static_cast<void*>(buffer.get());
  }

 private:
  static constexpr std::size_t kAlignment = 4096;
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };

  kernels::CompiledGraph& compiled_;
  const graph::GivenValues& values_;
  std::vector<std::unique_ptr<std::byte, Free>> buffers_;
};

// Runs every op before the loss; returns the logits.
Result<std::vector<float>> run_forward(kernels::CompiledGraph& compiled, Buffers& buffers,
                                       kernels::InputSource& input) {
  const graph::Graph& graph = compiled.graph();
  kernels::StepContext context;
  context.input = &input;
  for (graph::OpIndex index = 0; index < graph.op_count(); ++index) {
    const graph::Op& op = graph.op(index);
    if (op.kind == graph::OpKind::kSoftmaxCrossEntropy) {
      const graph::TensorId logits = op.inputs[0];
      std::vector<float> plain(static_cast<std::size_t>(graph::element_count(graph.tensor(logits).shape)));
      SLUICE_ASSIGN(const void* stored, buffers.at(logits));
      compiled.to_plain(logits, stored, plain);
      return plain;
    }
    std::vector<void*> operands;
    for (const auto* list : {&op.inputs, &op.outputs}) {
      for (const graph::TensorId id : *list) {
        SLUICE_ASSIGN(void* buffer, buffers.at(id));
        operands.push_back(buffer);
      }
    }
    SLUICE_RETURN_IF_ERROR(compiled.run(index, operands, context));
  }
  return Error{ErrorCode::kBadInput, "the graph has no cross-entropy loss"};
}

Status run(const std::vector<std::string>& arguments) {
  onnx::OnnxOptions options;
  options.batch = std::stoll(arguments[2]);
  SLUICE_ASSIGN(const onnx::OnnxModel model, onnx::import_onnx(arguments[0], options));
  const bool train = arguments[1] == "train";
  const graph::Graph logical =
      train ? graph::prepare_training_graph(model.forward, {}) : graph::prepare_evaluation_graph(model.forward);
  SLUICE_ASSIGN(const std::unique_ptr<kernels::CompiledGraph> compiled,
                kernels::make_onednn_backend()->compile(logical, 2));
  FileInput input({arguments.begin() + 4, arguments.end()});
  Buffers buffers(*compiled, *model.values);
  SLUICE_ASSIGN(const std::vector<float> logits, run_forward(*compiled, buffers, input));
  std::ofstream file(arguments[3], std::ios::binary);
  file.write(reinterpret_cast<const char*>(logits.data()), static_cast<std::streamsize>(logits.size() * sizeof(float)));
  if (!file.flush()) return Error{ErrorCode::kIo, "cannot write " + arguments[3]};
  return {};
}

}  // namespace
}  // namespace sluice::tests

int main(int argc, char** argv) {
  if (argc < 6) {
    std::cerr << "usage: onnx_forward MODEL eval|train BATCH OUTPUT INPUT...\n";
    return 2;
  }
  const sluice::Status done = sluice::tests::run({argv + 1, argv + argc});
  if (done.ok()) return 0;
  std::cerr << "onnx_forward: " << done.error().message << "\n";
  return 1;
}
