// One matrix product, or many of equal shape, by cuBLASLt: C = alpha A B + beta C, row-major.
//
// The algorithm is chosen once, from shapes and alignments alone, so that every run adds in the same order. TF32 is
// off: products of fp32 are fp32's. Of bf16 they are added up in fp32.
#pragma once

#include <optional>

#include "sluice/kernels/cuda/context.hpp"

namespace sluice::kernels::cuda {

// How an operand lies: rows `pitch` elements apart; `transposed` where what is stored is the transpose.
struct MatrixLayout {
  std::int64_t pitch = 0;
  bool transposed = false;
  std::int64_t batch_stride = 0;  // elements from one product's operand to the next one's
};

struct ProductShape {
  std::int64_t rows = 0, columns = 0, depth = 0;  // C is rows x columns
  std::int64_t batches = 1;
  MatrixLayout a, b, c;
  graph::DType factors = graph::DType::kF32;  // of A and B
  graph::DType result = graph::DType::kF32;
  bool bias = false;           // of one fp32 value for each column, where the result is fp32
  std::int64_t alignment = 1;  // of operands' first elements, in elements, when tensors are aligned to 64 bytes
};

class Product {
 public:
  // With at most `scratch` bytes of workspace. Throws gpu::CudaFailure where cuBLASLt has no algorithm.
  Product(const Context& context, const ProductShape& shape, Bytes scratch);
  ~Product();
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  Bytes workspace_bytes() const { return static_cast<Bytes>(chosen_.workspaceSize); }

  struct Operands {
    const void* a = nullptr;
    const void* b = nullptr;
    void* c = nullptr;
    const void* bias = nullptr;
    float alpha = 1, beta = 0;
  };
  void run(const Operands& operands, void* workspace, cudaStream_t stream) const;

 private:
  void choose(Bytes scratch, std::int64_t alignment_bytes);

  const Context& context_;
  cublasLtMatmulDesc_t description_ = nullptr;
  // cuBLASLt is column-major: C' = B' A', so its first operand is our B.
  cublasLtMatrixLayout_t first_ = nullptr, second_ = nullptr, result_ = nullptr;
  cublasLtMatmulHeuristicResult_t chosen_{};
};

}  // namespace sluice::kernels::cuda
