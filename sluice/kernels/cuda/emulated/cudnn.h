// The part of cuDNN that is called where a GPU is emulated: no engine of its own, so convolutions are Sluice's own loops in
// the form of engines (engines.cpp).
#pragma once

#include "sluice/gpu/emulated/cuda_runtime.h"

struct cudnnContext;
using cudnnHandle_t = cudnnContext*;
enum cudnnStatus_t { CUDNN_STATUS_SUCCESS };

inline cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = nullptr;
  return CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnSetStream(cudnnHandle_t /*handle*/, cudaStream_t /*stream*/) { return CUDNN_STATUS_SUCCESS; }
inline const char* cudnnGetErrorString(cudnnStatus_t /*status*/) { return "no error"; }
inline std::size_t cudnnGetVersion() { return 0; }
