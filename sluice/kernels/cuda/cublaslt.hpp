// The functions of cuBLASLt that we call, from the library as it is found when the first of them is asked for.
//
// Why not linked: it is 540 MB, and its relocation alone gave every command of a build with CUDA 200 MiB of resident
// memory and 80 ms at its start, those that never see a GPU too.
//
// Threads: any. Errors: cublaslt() throws gpu::CudaFailure with what the loader says.
#pragma once

#include <cublasLt.h>

namespace sluice::kernels::cuda {

struct CublasLt {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtGetStatusString) status_string = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) choose_algorithm = nullptr;
  decltype(&cublasLtMatmulDescCreate) create_description = nullptr;
  decltype(&cublasLtMatmulDescDestroy) destroy_description = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_description = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) create_layout = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout = nullptr;
};

const CublasLt& cublaslt();

}  // namespace sluice::kernels::cuda
