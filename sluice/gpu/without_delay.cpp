// Where a GPU is emulated, nothing is waited for: it has no clocks that rise, and no launches that are slow.
#include "sluice/gpu/stream_delay.hpp"

namespace sluice::gpu {

void delay_stream(cudaStream_t /*stream*/, Seconds /*seconds*/) {}

}  // namespace sluice::gpu
