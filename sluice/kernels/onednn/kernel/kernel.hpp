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
#include <utility>
#include <vector>

#include "sluice/kernels/backend.hpp"
#include "sluice/kernels/onednn/kernel/layout.hpp"

namespace sluice::kernels {

struct OperandRequest {
  graph::Shape shape;
  graph::DType dtype = graph::DType::kF32;
  std::optional<Layout> layout;  // nothing: the kernel may choose
  bool operator==(const OperandRequest&) const = default;
};

// Which of several ways to do an op, for the kinds that have some.
enum class Method {
  kBest,      // what suits the op best, in layouts that the kernel may change
  kDirect,    // a convolution without transforms, in the layouts requested; its weights may be reordered inside
  kWinograd,  // a convolution by Winograd's algorithm, in the layouts requested
  kMatMul,    // a dense layer's product by oneDNN's matmul where its sgemm is the usual one
};

struct KernelRequest {
  graph::OpKind kind = graph::OpKind::kInput;
  graph::Attributes attributes = {};
  graph::Slice slice = {};
  std::vector<OperandRequest> inputs;
  std::vector<OperandRequest> outputs;
  Bytes scratch = 0;  // what a kernel may take to be faster
  Method method = Method::kBest;
  bool operator==(const KernelRequest&) const = default;

  template <typename Family>
  const Family& as() const {
    return graph::attributes_as<Family>(attributes);
  }
  template <typename Family>
  Family& as() {
    return graph::attributes_as<Family>(attributes);
  }
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

// Whether it is oneDNN's code for whatever nothing faster was written for.
bool is_reference(const Kernel& kernel);

// How oneDNN says that it has no such primitive for a shape, a machine or fixed layouts. Other errors are real.
inline bool says_none(const dnnl::error& error) {
  return error.status == dnnl_unimplemented || error.status == dnnl_invalid_arguments;
}

// Row-major layouts of all operands: the default for kernels that want no other.
std::vector<Layout> plain_layouts(const std::vector<OperandRequest>& operands);

// The kernels of one file, each beside the kind it runs.
using KernelMaker = KernelPtr (*)(const KernelRequest& request, const dnnl::engine& engine);
using KernelMakers = std::vector<std::pair<graph::OpKind, KernelMaker>>;

// clang-format off
#define SLUICE_KERNEL_FAMILIES(FAMILY) \
  FAMILY(convolution_kernels) \
  FAMILY(convolution_transpose_kernels) \
  FAMILY(dense_kernels) \
  FAMILY(elementwise_kernels) \
  FAMILY(lstm_kernels) \
  FAMILY(matmul_kernels) \
  FAMILY(pooling_kernels) \
  FAMILY(transpose_kernels) \
  FAMILY(unary_kernels) \
  FAMILY(batch_copy_kernels) \
  FAMILY(batch_norm_kernels) \
  FAMILY(batch_norm_backward_kernels) \
  FAMILY(binary_kernels) \
  FAMILY(select_kernels) \
  FAMILY(cast_kernels) \
  FAMILY(concat_kernels) \
  FAMILY(dropout_kernels) \
  FAMILY(embedding_kernels) \
  FAMILY(input_kernels) \
  FAMILY(layer_norm_kernels) \
  FAMILY(local_response_norm_kernels) \
  FAMILY(loss_kernels) \
  FAMILY(reduce_kernels) \
  FAMILY(softmax_kernels) \
  FAMILY(sparse_product_kernels) \
  FAMILY(update_kernels) \
  FAMILY(clipping_kernels) \
  FAMILY(rank_kernels) \
  FAMILY(running_sum_kernels)
// clang-format on
#define SLUICE_KERNEL_FAMILY(family) KernelMakers family();
SLUICE_KERNEL_FAMILIES(SLUICE_KERNEL_FAMILY)
#undef SLUICE_KERNEL_FAMILY

KernelPtr make_reorder(const Layout& from, const Layout& to, const dnnl::engine& engine);

// The kernel for any request but a reorder or a reshape, which lowering makes a view. Throws dnnl::error where oneDNN
// has none, also for a method that the op has not.
KernelPtr make_kernel(const KernelRequest& request, const dnnl::engine& engine);

// Other ways to do the op than `kernel`, which was made for `request`: each in the kernel's layouts, so that it can
// take the kernel's place, and of another time or workspace. At most four.
std::vector<KernelRequest> other_methods(const KernelRequest& request, const Kernel& kernel);

}  // namespace sluice::kernels
