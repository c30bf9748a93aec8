// Keeps a stream busy for a moment, doing nothing.
#pragma once

#include <cuda_runtime.h>

#include "sluice/base/units.hpp"

namespace sluice::gpu {

// About `seconds`: by the GPU's clock, which varies.
void delay_stream(cudaStream_t stream, Seconds seconds);

}  // namespace sluice::gpu
