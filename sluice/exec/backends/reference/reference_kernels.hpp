// The reference kernels: every op written straight from its definition, plain layouts, sums in double precision.
//
// Slow on purpose: these are the oracle that fast backends are tested against, so each must be obvious at a glance.
// They keep no state, need no workspace and ignore the thread count. They see fp32: bf16 operands are widened before
// and rounded behind (reference_backend.cpp), so a bf16 op is the fp32 op on rounded operands with rounded results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sluice/exec/backends/backend.hpp"

namespace sluice {

// One op with the pointers of its operands, viewed with their types and shapes. Indices follow the table in op.hpp.
class ReferenceCall {
 public:
  ReferenceCall(const Graph& graph, const Op& op, std::span<void* const> operands)
      : graph_(graph), op_(op), operands_(operands) {}

  const Op& op() const { return op_; }
  const Attributes& attributes() const { return op_.attributes; }
  std::size_t input_count() const { return op_.inputs.size(); }
  std::size_t output_count() const { return op_.outputs.size(); }
  const Shape& input_shape(std::size_t i) const { return graph_.tensor(op_.inputs.at(i)).shape; }
  const Shape& output_shape(std::size_t i) const { return graph_.tensor(op_.outputs.at(i)).shape; }

  template <typename T>
  std::span<const T> input(std::size_t i) const {
    return {static_cast<const T*>(operands_[i]), static_cast<std::size_t>(element_count(input_shape(i)))};
  }
  template <typename T>
  std::span<T> output(std::size_t i) const {
    return {static_cast<T*>(operands_[input_count() + i]), static_cast<std::size_t>(element_count(output_shape(i)))};
  }
  // The same without their type, for ops that only move: 4 bytes an element, u8 1.
  std::span<const std::byte> input_bytes(std::size_t i) const {
    return {static_cast<const std::byte*>(operands_[i]), byte_count(op_.inputs.at(i))};
  }
  std::span<std::byte> output_bytes(std::size_t i) const {
    return {static_cast<std::byte*>(operands_[input_count() + i]), byte_count(op_.outputs.at(i))};
  }

 private:
  std::size_t byte_count(TensorId id) const {
    const Tensor& tensor = graph_.tensor(id);
    return static_cast<std::size_t>(element_count(tensor.shape)) * (tensor.dtype == DType::kU8 ? 1 : 4);
  }

  const Graph& graph_;
  const Op& op_;
  std::span<void* const> operands_;
};

// A fused activation, and whether its gradient passes at a value before it.
double activate(Activation activation, double value);
bool passes(Activation activation, double value);

void reference_convolution(const ReferenceCall& call);
void reference_convolution_backward_data(const ReferenceCall& call);
void reference_convolution_backward_weights(const ReferenceCall& call);
void reference_convolution_transpose(const ReferenceCall& call);
void reference_convolution_transpose_backward_data(const ReferenceCall& call);
void reference_convolution_transpose_backward_weights(const ReferenceCall& call);
void reference_batch_norm(const ReferenceCall& call);
void reference_batch_norm_apply(const ReferenceCall& call);
void reference_batch_norm_backward(const ReferenceCall& call);
void reference_batch_norm_statistics(const ReferenceCall& call);
void reference_batch_norm_merge(const ReferenceCall& call);
void reference_batch_norm_backward_sums(const ReferenceCall& call);
void reference_batch_norm_backward_apply(const ReferenceCall& call);
void reference_layer_norm(const ReferenceCall& call);
void reference_layer_norm_backward(const ReferenceCall& call);
void reference_local_response_norm(const ReferenceCall& call);
void reference_local_response_norm_backward(const ReferenceCall& call);
void reference_relu(const ReferenceCall& call);
void reference_relu_backward(const ReferenceCall& call);
void reference_unary(const ReferenceCall& call);
void reference_unary_backward(const ReferenceCall& call);
void reference_add(const ReferenceCall& call);
void reference_binary(const ReferenceCall& call);
void reference_reduce(const ReferenceCall& call);
void reference_broadcast(const ReferenceCall& call);
void reference_copy(const ReferenceCall& call);
void reference_transpose(const ReferenceCall& call);
void reference_concat(const ReferenceCall& call);
void reference_slice(const ReferenceCall& call);
void reference_pad(const ReferenceCall& call);
void reference_max_pool(const ReferenceCall& call);
void reference_max_pool_backward(const ReferenceCall& call);
void reference_average_pool(const ReferenceCall& call);
void reference_average_pool_backward(const ReferenceCall& call);
void reference_dense(const ReferenceCall& call);
void reference_dense_backward_data(const ReferenceCall& call);
void reference_dense_backward_weights(const ReferenceCall& call);
void reference_matmul(const ReferenceCall& call);
void reference_embedding(const ReferenceCall& call);
void reference_embedding_backward(const ReferenceCall& call);
void reference_lstm_cell(const ReferenceCall& call);
void reference_lstm_cell_backward(const ReferenceCall& call);
void reference_softmax(const ReferenceCall& call);
void reference_softmax_backward(const ReferenceCall& call);
void reference_dropout(const ReferenceCall& call, const StepContext& context);
void reference_softmax_cross_entropy(const ReferenceCall& call);
void reference_softmax_cross_entropy_backward(const ReferenceCall& call);
void reference_sigmoid_cross_entropy(const ReferenceCall& call);
void reference_sigmoid_cross_entropy_backward(const ReferenceCall& call);
void reference_slice_batch(const ReferenceCall& call);
void reference_place_batch(const ReferenceCall& call);
void reference_sgd_update(const ReferenceCall& call, const StepContext& context);
void reference_adam_update(const ReferenceCall& call, const StepContext& context);

// Runs any op but kInput.
void run_reference_kernel(const ReferenceCall& call, const StepContext& context);

}  // namespace sluice
