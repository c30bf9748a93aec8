// What the CUDA runtime answers, checked. A call that fails throws CudaFailure, which becomes an Error where a kernel's
// caller is told (cuda_graph.cpp): an error of the device is rare, and every kernel would have to pass it on.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace sluice::gpu {

class CudaFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw CudaFailure(std::string(what) + ": " + cudaGetErrorString(status));
}

inline void check_launch() { check(cudaGetLastError(), "a kernel could not be launched"); }

}  // namespace sluice::gpu
