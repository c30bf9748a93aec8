#include <algorithm>

#include "sluice/exec/backends/reference/reference_kernels.hpp"
#include "sluice/graph/in_place.hpp"

namespace sluice {
namespace {

Status fill_input(const ReferenceCall& call, const StepContext& context) {
  SLUICE_CHECK(context.input != nullptr, "a step with an input op needs an input source");
  return context.input->fill(context.step, call.output<float>(0), call.output<std::int32_t>(1));
}

void run_layer_op(const ReferenceCall& call, float learning_rate) {
  switch (call.op().kind) {
    case OpKind::kConv2d:
      return reference_convolution(call);
    case OpKind::kConv2dBackwardData:
      return reference_convolution_backward_data(call);
    case OpKind::kConv2dBackwardWeights:
      return reference_convolution_backward_weights(call);
    case OpKind::kBatchNorm:
      return reference_batch_norm(call);
    case OpKind::kBatchNormBackward:
      return reference_batch_norm_backward(call);
    case OpKind::kRelu:
      return reference_relu(call);
    case OpKind::kReluBackward:
      return reference_relu_backward(call);
    case OpKind::kAdd:
      return reference_add(call);
    case OpKind::kMaxPool:
      return reference_max_pool(call);
    case OpKind::kMaxPoolBackward:
      return reference_max_pool_backward(call);
    case OpKind::kAvgPool:
      return reference_average_pool(call);
    case OpKind::kAvgPoolBackward:
      return reference_average_pool_backward(call);
    case OpKind::kDense:
      return reference_dense(call);
    case OpKind::kDenseBackwardData:
      return reference_dense_backward_data(call);
    case OpKind::kDenseBackwardWeights:
      return reference_dense_backward_weights(call);
    case OpKind::kSoftmaxCrossEntropy:
      return reference_softmax_cross_entropy(call);
    case OpKind::kSoftmaxCrossEntropyBackward:
      return reference_softmax_cross_entropy_backward(call);
    case OpKind::kReorder:
      return reference_copy(call);
    case OpKind::kSliceBatch:
      return reference_slice_batch(call);
    case OpKind::kPlaceBatch:
      return reference_place_batch(call);
    case OpKind::kSgdUpdate:
      return reference_sgd_update(call, learning_rate);
    case OpKind::kInput:
      break;
  }
  SLUICE_CHECK(false, "the step's input is no layer op");
}

class ReferenceGraph : public CompiledGraph {
 public:
  explicit ReferenceGraph(Graph graph) : graph_(std::move(graph)) {}

  const Graph& graph() const override { return graph_; }

  Status run(OpIndex op, std::span<void* const> operands, const StepContext& context) override {
    const ReferenceCall call(graph_, graph_.op(op), operands);
    if (call.op().kind == OpKind::kInput) return fill_input(call, context);
    run_layer_op(call, context.learning_rate);
    return {};
  }

  void to_plain(TensorId tensor, const void* stored, std::span<float> plain) override {
    check_float(tensor);
    std::copy_n(static_cast<const float*>(stored), plain.size(), plain.data());
  }

  void from_plain(TensorId tensor, std::span<const float> plain, void* stored) override {
    check_float(tensor);
    std::copy_n(plain.data(), plain.size(), static_cast<float*>(stored));
  }

 private:
  void check_float(TensorId id) const {
    const Tensor& tensor = graph_.tensor(id);
    SLUICE_CHECK(tensor.dtype == DType::kF32, tensor.name + " is not fp32: it has no row-major fp32 form");
  }

  Graph graph_;
};

class ReferenceBackend : public Backend {
 public:
  std::string name() const override { return "reference"; }

  Result<std::unique_ptr<CompiledGraph>> compile(const Graph& logical, int /*threads*/) override {
    Graph graph = logical;
    for (OpIndex op = 0; op < graph.op_count(); ++op) graph.op(op).implementations = {{"reference", 0}};
    set_in_place_candidates(graph);
    merge_in_place(graph);
    return std::unique_ptr<CompiledGraph>(std::make_unique<ReferenceGraph>(std::move(graph)));
  }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace sluice
