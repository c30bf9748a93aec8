// Kernels: what runs one op, and the layouts in which it wants its operands.
//
// A kernel is built from a request: the op's kind and attributes, and for each operand its shape and, where the graph
// has already decided it, its layout. The kernel answers with the layouts it really uses; lowering.hpp inserts reorders
// where these differ. Kernels own code and small tables, never tensor memory; equal requests share one kernel.
// Scratch memory is an operand too: the last output, when workspace_bytes is not 0.
//
// Threads: one caller at a time; a kernel uses the OpenMP threads that were set when it was built. Results depend only
// on operand bytes and that thread count. Errors: construction throws dnnl::error when oneDNN has no such primitive.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/exec/backends/backend.hpp"
#include "sluice/exec/backends/onednn/layout.hpp"

namespace sluice {

struct OperandRequest {
  Shape shape;
  DType dtype = DType::kF32;
  std::optional<Layout> layout;  // nothing: the kernel may choose
  bool operator==(const OperandRequest&) const = default;
};

struct KernelRequest {
  OpKind kind = OpKind::kInput;
  Attributes attributes;
  std::vector<OperandRequest> inputs;
  std::vector<OperandRequest> outputs;
  Bytes scratch = 0;  // that a kernel may take to be faster
  bool operator==(const KernelRequest&) const = default;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual Status run(std::span<void* const> operands, const StepContext& context) = 0;

  std::string implementation;   // oneDNN's name for the code that runs, or "loop" for our own
  std::vector<Layout> inputs;   // by operand
  std::vector<Layout> outputs;  // by operand, without the workspace
  Bytes workspace_bytes = 0;
};

using KernelPtr = std::unique_ptr<Kernel>;

// Row-major layouts of all operands: the default for kernels that have no wish.
std::vector<Layout> plain_layouts(const std::vector<OperandRequest>& operands);

KernelPtr make_input(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_convolution(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_convolution_backward_data(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_convolution_backward_weights(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_convolution_transpose(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_convolution_transpose_backward_data(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_convolution_transpose_backward_weights(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_batch_norm(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_batch_norm_apply(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_batch_norm_backward(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_batch_norm_statistics(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_batch_norm_merge(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_batch_norm_backward_sums(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_batch_norm_backward_apply(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_layer_norm(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_layer_norm_backward(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_local_response_norm(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_local_response_norm_backward(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_relu(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_relu_backward(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_unary(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_unary_backward(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_add(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_binary(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_reduce(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_broadcast(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_transpose(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_concat(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_slice(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_pad(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_max_pool(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_max_pool_backward(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_average_pool(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_average_pool_backward(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_dense(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_dense_backward_data(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_dense_backward_weights(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_matmul(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_embedding(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_embedding_backward(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_lstm_cell(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_lstm_cell_backward(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_softmax(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_softmax_backward(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_dropout(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_softmax_cross_entropy(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_softmax_cross_entropy_backward(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_sigmoid_cross_entropy(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_sigmoid_cross_entropy_backward(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_cast(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_slice_batch(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_place_batch(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_sgd_update(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_adam_update(const KernelRequest& request, const dnnl::engine& engine);
KernelPtr make_reorder(const Layout& from, const Layout& to, const dnnl::engine& engine);

// The kernel for any request but a reorder or a reshape, which lowering makes a view.
KernelPtr make_kernel(const KernelRequest& request, const dnnl::engine& engine);

}  // namespace sluice
