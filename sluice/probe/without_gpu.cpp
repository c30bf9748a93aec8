#include "sluice/gpu/no_cuda.hpp"
#include "sluice/probe/gpu_probe.hpp"

namespace sluice {

Status measure_gpu_links(Machine& /*machine*/, std::span<const LinkId> /*links*/) { return no_cuda(); }
Status measure_gpu_memory(Tier& /*tier*/) { return no_cuda(); }

}  // namespace sluice
