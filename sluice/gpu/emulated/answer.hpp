// What an emulated call answers: its error, which cudaGetLastError() of this thread gives once more.
#pragma once

#include "sluice/gpu/emulated/cuda_runtime.h"

namespace sluice::gpu {

cudaError_t answer(cudaError_t error);

}  // namespace sluice::gpu
