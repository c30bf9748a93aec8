#include "sluice/kernels/cuda/context.hpp"

#include <mutex>

namespace sluice::kernels::cuda {

Result<std::shared_ptr<Context>> Context::get() {
  static std::mutex mutex;
  static auto* const made = new std::shared_ptr<Context>();
  const std::lock_guard lock(mutex);
  if (*made != nullptr) return *made;
  int devices = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&devices); status != cudaSuccess || devices == 0) {
    return Error{ErrorCode::kUnsupported,
                 std::string("there is no NVIDIA GPU to compute on: ") +
                     (status == cudaSuccess ? "the driver knows no device" : cudaGetErrorString(status)) +
                     "; see nvidia-smi, or leave out --gpu"};
  }
  std::shared_ptr<Context> context(new Context);
  try {
    context->create();
  } catch (const gpu::CudaFailure& failure) {
    return Error{ErrorCode::kUnsupported, std::string("the GPU cannot be used: ") + failure.what()};
  }
  *made = context;
  return context;
}

void Context::create() {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making the stream of ops");
  check(cudnnCreate(&cudnn_), "starting cuDNN");
  check(cudnnSetStream(cudnn_, stream_), "giving cuDNN its stream");
  check(cublaslt().create(&cublas_), "starting cuBLASLt");
  check(cudaHostAlloc(reinterpret_cast<void**>(&step_on_host_), sizeof(StepOnDevice), cudaHostAllocDefault),
        "reserving pinned memory for a step's figures");
  check(cudaMalloc(reinterpret_cast<void**>(&step_), sizeof(StepOnDevice)), "reserving memory for a step's figures");
  *step_on_host_ = {};
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "asking for the GPU's name");
  tuned_ = std::make_unique<TunedOrders>(std::string(properties.name) + " cuDNN " + std::to_string(cudnnGetVersion()));
}

void Context::send_step() const {
  check(cudaMemcpyAsync(step_, step_on_host_, sizeof(StepOnDevice), cudaMemcpyHostToDevice, stream_),
        "sending a step's figures");
}

}  // namespace sluice::kernels::cuda
