// cuBLASLt's products where a GPU is emulated: column-major, D = alpha op(A) op(B) + beta C, with a bias for each row of D.
#include <cstring>

#include "sluice/gpu/emulated/stream.hpp"
#include "sluice/kernels/cuda/cells.cuh"
#include "sluice/kernels/cuda/cublaslt.hpp"

// NOLINTBEGIN(readability-identifier-naming): cuBLASLt's names.

struct cublasLtMatmulDescOpaque {
  cublasOperation_t transposes[2] = {CUBLAS_OP_N, CUBLAS_OP_N};
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const float* bias = nullptr;
};

struct cublasLtMatrixLayoutOpaque {
  cudaDataType_t type = CUDA_R_32F;
  std::int64_t rows = 0, columns = 0, pitch = 0;
  std::int32_t batches = 1;
  std::int64_t batch_stride = 0;
};

struct cublasLtMatmulPreferenceOpaque {
  std::size_t workspace = 0;
  std::uint32_t alignments[4] = {256, 256, 256, 256};
};

// NOLINTEND(readability-identifier-naming)

namespace sluice::kernels::cuda {
namespace {

constexpr std::size_t kProductWorkspace = 1024;  // which a product only spoils

// A matrix as a factor: element (i, j) of op(M).
struct Factor {
  Cells cells;
  std::int64_t row_stride, column_stride, batch_stride;

  Factor(const void* data, const cublasLtMatrixLayoutOpaque& layout, cublasOperation_t transpose)
      : cells(const_cast<void*>(data), layout.type == CUDA_R_16BF),
        row_stride(transpose == CUBLAS_OP_N ? 1 : layout.pitch),
        column_stride(transpose == CUBLAS_OP_N ? layout.pitch : 1),
        batch_stride(layout.batch_stride) {}

  float at(std::int64_t batch, std::int64_t i, std::int64_t j) const {
    return cells[batch * batch_stride + i * row_stride + j * column_stride];
  }
};

struct EmulatedProduct {
  Factor a, b, c;
  std::int64_t rows, columns, depth, batches;
  float alpha, beta;
  const float* bias;

  void run() const {
    for (std::int64_t batch = 0; batch < batches; ++batch)
      for (std::int64_t j = 0; j < columns; ++j)
        for (std::int64_t i = 0; i < rows; ++i) {
          float sum = 0;
          for (std::int64_t k = 0; k < depth; ++k) sum += a.at(batch, i, k) * b.at(batch, k, j);
          sum *= alpha;
          if (beta != 0) sum += beta * c.at(batch, i, j);
          if (bias != nullptr) sum += bias[i];
          c.cells.set(batch * c.batch_stride + i + j * c.column_stride, sum);
        }
  }
};

bool is_aligned(const void* data, std::uint32_t bytes) { return reinterpret_cast<std::uintptr_t>(data) % bytes == 0; }

// What cuBLASLt asks of operands' shapes and types.
bool fit(const cublasLtMatmulDescOpaque& description, const cublasLtMatrixLayoutOpaque& a,
         const cublasLtMatrixLayoutOpaque& b, const cublasLtMatrixLayoutOpaque& d) {
  const bool turned_a = description.transposes[0] == CUBLAS_OP_T;
  const bool turned_b = description.transposes[1] == CUBLAS_OP_T;
  const std::int64_t depth = turned_a ? a.rows : a.columns;
  return (turned_a ? a.columns : a.rows) == d.rows && (turned_b ? b.rows : b.columns) == d.columns &&
         (turned_b ? b.columns : b.rows) == depth && a.type == b.type && (d.type == a.type || d.type == CUDA_R_32F) &&
         (description.epilogue == CUBLASLT_EPILOGUE_DEFAULT || d.type == CUDA_R_32F) && a.pitch >= a.rows &&
         b.pitch >= b.rows && d.pitch >= d.rows && a.batches == d.batches && b.batches == d.batches;
}

template <typename Value>
cublasStatus_t give(Value& attribute, const void* value, std::size_t bytes) {
  if (bytes != sizeof attribute) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&attribute, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

const CublasLt& cublaslt() {
  static const CublasLt functions{.create = cublasLtCreate,
                                  .status_string = cublasLtGetStatusString,
                                  .matmul = cublasLtMatmul,
                                  .choose_algorithm = cublasLtMatmulAlgoGetHeuristic,
                                  .create_description = cublasLtMatmulDescCreate,
                                  .destroy_description = cublasLtMatmulDescDestroy,
                                  .set_description = cublasLtMatmulDescSetAttribute,
                                  .create_preference = cublasLtMatmulPreferenceCreate,
                                  .destroy_preference = cublasLtMatmulPreferenceDestroy,
                                  .set_preference = cublasLtMatmulPreferenceSetAttribute,
                                  .create_layout = cublasLtMatrixLayoutCreate,
                                  .destroy_layout = cublasLtMatrixLayoutDestroy,
                                  .set_layout = cublasLtMatrixLayoutSetAttribute};
  return functions;
}

}  // namespace sluice::kernels::cuda

using sluice::kernels::cuda::give;

// NOLINTBEGIN(readability-identifier-naming): cuBLASLt's names.

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "success" : "an invalid value was passed";
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description, cublasComputeType_t /*compute*/,
                                        cudaDataType_t /*scale*/) {
  *description = new cublasLtMatmulDescOpaque;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  delete description;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              std::size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return give(description->transposes[0], value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return give(description->transposes[1], value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return give(description->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return give(description->bias, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t pitch) {
  *layout = new cublasLtMatrixLayoutOpaque{.type = type,
                                           .rows = static_cast<std::int64_t>(rows),
                                           .columns = static_cast<std::int64_t>(columns),
                                           .pitch = pitch};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                std::size_t bytes) {
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) return give(layout->batches, value, bytes);
  return give(layout->batch_stride, value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new cublasLtMatmulPreferenceOpaque;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    std::size_t bytes) {
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) return give(preference->workspace, value, bytes);
  return give(preference->alignments[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value, bytes);
}

// One algorithm, which takes workspace where it may.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t /*c*/, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int /*wanted*/,
                                              cublasLtMatmulHeuristicResult_t* results, int* found) {
  *found = 0;
  if (!sluice::kernels::cuda::fit(*description, *a, *b, *d)) return CUBLAS_STATUS_INVALID_VALUE;
  *results = {};
  std::memcpy(results->algo.alignments, preference->alignments, sizeof results->algo.alignments);
  if (preference->workspace >= sluice::kernels::cuda::kProductWorkspace)
    results->workspaceSize = results->algo.workspace = sluice::kernels::cuda::kProductWorkspace;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t description, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t layout_a, const void* b,
                              cublasLtMatrixLayout_t layout_b, const void* beta, const void* c,
                              cublasLtMatrixLayout_t layout_c, void* d, cublasLtMatrixLayout_t layout_d,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace, std::size_t workspace_bytes,
                              cudaStream_t stream) {
  using sluice::kernels::cuda::Factor;
  const void* const operands[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) {
    if (!sluice::kernels::cuda::is_aligned(operands[i], algorithm->alignments[i])) return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool adds_bias = description->epilogue == CUBLASLT_EPILOGUE_BIAS;
  if (c != d || (adds_bias && description->bias == nullptr) || workspace_bytes < algorithm->workspace ||
      layout_c != layout_d || !sluice::kernels::cuda::fit(*description, *layout_a, *layout_b, *layout_d) ||
      (workspace_bytes > 0 && (workspace == nullptr || !sluice::kernels::cuda::is_aligned(workspace, 256)))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool turned = description->transposes[0] == CUBLAS_OP_T;
  const sluice::kernels::cuda::EmulatedProduct product{.a = Factor(a, *layout_a, description->transposes[0]),
                                                       .b = Factor(b, *layout_b, description->transposes[1]),
                                                       .c = Factor(d, *layout_d, CUBLAS_OP_N),
                                                       .rows = layout_d->rows,
                                                       .columns = layout_d->columns,
                                                       .depth = turned ? layout_a->rows : layout_a->columns,
                                                       .batches = layout_d->batches,
                                                       .alpha = *static_cast<const float*>(alpha),
                                                       .beta = *static_cast<const float*>(beta),
                                                       .bias = adds_bias ? description->bias : nullptr};
  stream->put([=] {
    if (workspace_bytes > 0) std::memset(workspace, 0xff, workspace_bytes);
    product.run();
  });
  return CUBLAS_STATUS_SUCCESS;
}

// NOLINTEND(readability-identifier-naming)
