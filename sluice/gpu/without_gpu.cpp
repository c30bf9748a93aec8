#include "sluice/gpu/gpu_memory.hpp"
#include "sluice/gpu/no_cuda.hpp"

namespace sluice::gpu {

Result<memory::GpuFacts> find_gpu() { return no_cuda(); }
Result<memory::Arena> map_device_arena(Bytes /*bytes*/, const std::string& /*name*/) { return no_cuda(); }
Result<memory::Arena> map_pinned_arena(Bytes /*bytes*/, const std::string& /*name*/) { return no_cuda(); }
Status copy_gpu_bytes(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/) { return no_cuda(); }
Status clear_gpu_bytes(void* /*from*/, std::size_t /*bytes*/) { return no_cuda(); }

}  // namespace sluice::gpu
