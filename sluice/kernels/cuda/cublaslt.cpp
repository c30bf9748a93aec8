#include "sluice/kernels/cuda/cublaslt.hpp"

#include <dlfcn.h>

#include <string>

#include "sluice/gpu/check_cuda.hpp"

namespace sluice::kernels::cuda {
namespace {

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) throw gpu::CudaFailure(std::string("cuBLASLt lacks a function: ") + dlerror());
}

CublasLt open_cublaslt() {
  const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);  // the version of the header
  void* library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) throw gpu::CudaFailure(std::string("cuBLASLt cannot be opened: ") + dlerror());
  CublasLt functions;
  find(library, "cublasLtCreate", functions.create);
  find(library, "cublasLtGetStatusString", functions.status_string);
  find(library, "cublasLtMatmul", functions.matmul);
  find(library, "cublasLtMatmulAlgoGetHeuristic", functions.choose_algorithm);
  find(library, "cublasLtMatmulDescCreate", functions.create_description);
  find(library, "cublasLtMatmulDescDestroy", functions.destroy_description);
  find(library, "cublasLtMatmulDescSetAttribute", functions.set_description);
  find(library, "cublasLtMatmulPreferenceCreate", functions.create_preference);
  find(library, "cublasLtMatmulPreferenceDestroy", functions.destroy_preference);
  find(library, "cublasLtMatmulPreferenceSetAttribute", functions.set_preference);
  find(library, "cublasLtMatrixLayoutCreate", functions.create_layout);
  find(library, "cublasLtMatrixLayoutDestroy", functions.destroy_layout);
  find(library, "cublasLtMatrixLayoutSetAttribute", functions.set_layout);
  return functions;
}

}  // namespace

const CublasLt& cublaslt() {
  static const CublasLt functions = open_cublaslt();
  return functions;
}

}  // namespace sluice::kernels::cuda
