#include "sluice/gpu/no_cuda.hpp"
#include "sluice/probe/gpu_probe.hpp"

namespace sluice::probe {

Status measure_gpu_links(memory::Machine& /*machine*/, std::span<const memory::LinkId> /*links*/) {
  return gpu::no_cuda();
}
Status measure_gpu_memory(memory::Tier& /*tier*/) { return gpu::no_cuda(); }

}  // namespace sluice::probe
