#include "sluice/kernels/cuda/product.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::kernels::cuda {
namespace {

cudaDataType_t cublas_type_of(graph::DType dtype) { return dtype == graph::DType::kBF16 ? CUDA_R_16BF : CUDA_R_32F; }

cublasLtMatrixLayout_t make_layout(graph::DType dtype, std::int64_t rows, std::int64_t columns,
                                   const MatrixLayout& lies, std::int64_t batches) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublaslt().create_layout(&layout, cublas_type_of(dtype), static_cast<std::uint64_t>(rows),
                                 static_cast<std::uint64_t>(columns), lies.pitch),
        "describing a matrix");
  const auto count = static_cast<std::int32_t>(batches);
  check(cublaslt().set_layout(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count), "describing a matrix");
  check(cublaslt().set_layout(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &lies.batch_stride,
                              sizeof lies.batch_stride),
        "describing a matrix");
  return layout;
}

template <typename Value>
void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  check(cublaslt().set_description(description, attribute, &value, sizeof value), "describing a product");
}

template <typename Value>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute, const Value& value) {
  check(cublaslt().set_preference(preference, attribute, &value, sizeof value), "choosing an algorithm");
}

}  // namespace

Product::Product(const Context& context, const ProductShape& shape, Bytes scratch) : context_(context) {
  check(cublaslt().create_description(&description_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describing a product");
  const auto op_of = [](const MatrixLayout& lies) { return lies.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  set(description_, CUBLASLT_MATMUL_DESC_TRANSA, op_of(shape.b));
  set(description_, CUBLASLT_MATMUL_DESC_TRANSB, op_of(shape.a));
  if (shape.bias) set(description_, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  // What lies as rows x columns, row-major, is columns x rows to cuBLASLt.
  const auto describe = [&](const MatrixLayout& lies, std::int64_t rows, std::int64_t columns, graph::DType dtype) {
    return lies.transposed ? make_layout(dtype, rows, columns, lies, shape.batches)
                           : make_layout(dtype, columns, rows, lies, shape.batches);
  };
  first_ = describe(shape.b, shape.depth, shape.columns, shape.factors);
  second_ = describe(shape.a, shape.rows, shape.depth, shape.factors);
  result_ = describe(shape.c, shape.rows, shape.columns, shape.result);
  choose(scratch, shape.alignment * size_of(shape.factors));
}

void Product::choose(Bytes scratch, std::int64_t alignment_bytes) {
  cublasLtMatmulPreference_t preference = nullptr;
  check(cublaslt().create_preference(&preference), "choosing an algorithm");
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, as_index(scratch));
  const auto alignment = static_cast<std::uint32_t>(std::clamp<std::int64_t>(alignment_bytes, 2, 64));
  for (const auto operand : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                             CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    set(preference, operand, alignment);
  }
  int found = 0;
  const cublasStatus_t status = cublaslt().choose_algorithm(context_.cublas(), description_, first_, second_, result_,
                                                            result_, preference, 1, &chosen_, &found);
  cublaslt().destroy_preference(preference);
  check(status, "choosing an algorithm");
  if (found == 0) throw gpu::CudaFailure("cuBLASLt has no algorithm for a product");
}

Product::~Product() {
  cublaslt().destroy_layout(first_);
  cublaslt().destroy_layout(second_);
  cublaslt().destroy_layout(result_);
  cublaslt().destroy_description(description_);
}

void Product::run(const Operands& operands, void* workspace, cudaStream_t stream) const {
  if (operands.bias != nullptr) set(description_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias);
  check(cublaslt().matmul(context_.cublas(), description_, &operands.alpha, operands.b, first_, operands.a, second_,
                          &operands.beta, operands.c, result_, operands.c, result_, &chosen_.algo, workspace,
                          chosen_.workspaceSize, stream),
        "a matrix product");
}

}  // namespace sluice::kernels::cuda
