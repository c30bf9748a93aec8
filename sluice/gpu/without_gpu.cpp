#include "sluice/gpu/gpu_memory.hpp"
#include "sluice/gpu/no_cuda.hpp"

namespace sluice {

Result<GpuFacts> find_gpu() { return no_cuda(); }
Result<Arena> map_device_arena(Bytes /*bytes*/, const std::string& /*name*/) { return no_cuda(); }
Result<Arena> map_pinned_arena(Bytes /*bytes*/, const std::string& /*name*/) { return no_cuda(); }
Status copy_gpu_bytes(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/) { return no_cuda(); }
Status clear_gpu_bytes(void* /*from*/, std::size_t /*bytes*/) { return no_cuda(); }

}  // namespace sluice
