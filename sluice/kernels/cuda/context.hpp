// The GPU that this process computes on: handles of cuDNN and cuBLASLt, the stream that ops run on, and the memory in
// which a step's figures lie. One for the process, made when it is first asked for, and never destroyed: at exit the
// libraries may be gone before it.
//
// Threads: one at a time uses its stream. Errors: kUnsupported where there is no GPU, with what the driver says.
#pragma once

#include <cuda_runtime.h>
#include <cudnn.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/gpu/check_cuda.hpp"
#include "sluice/kernels/cuda/cublaslt.hpp"
#include "sluice/kernels/cuda/cuda_kernels.hpp"
#include "sluice/kernels/cuda/tuning.hpp"

namespace sluice::kernels::cuda {

using gpu::check;

inline void check(cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS) throw gpu::CudaFailure(std::string(what) + ": " + cudnnGetErrorString(status));
}
inline void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw gpu::CudaFailure(std::string(what) + ": " + cublaslt().status_string(status));
}

class ConvolutionMethod;

class Context {
 public:
  static Result<std::shared_ptr<Context>> get();
  ~Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  cudaStream_t stream() const { return stream_; }
  cudnnHandle_t cudnn() const { return cudnn_; }
  cublasLtHandle_t cublas() const { return cublas_; }

  // Convolutions that have been prepared, by shape.
  using ConvolutionMethods = std::vector<std::shared_ptr<ConvolutionMethod>>;
  std::map<std::string, ConvolutionMethods>& convolutions() const { return convolutions_; }
  TunedOrders& tuned() const { return *tuned_; }

  // The figures of the step that runs: written here by the host, copied to the device at the start of a step.
  StepOnDevice& step_on_host() const { return *step_on_host_; }
  const StepOnDevice* step() const { return step_; }
  void send_step() const;  // puts the copy on the stream

 private:
  Context() = default;
  void create();

  cudaStream_t stream_ = nullptr;
  cudnnHandle_t cudnn_ = nullptr;
  cublasLtHandle_t cublas_ = nullptr;
  StepOnDevice* step_on_host_ = nullptr;  // pinned
  StepOnDevice* step_ = nullptr;          // device
  mutable std::map<std::string, ConvolutionMethods> convolutions_;
  std::unique_ptr<TunedOrders> tuned_;
};

}  // namespace sluice::kernels::cuda
