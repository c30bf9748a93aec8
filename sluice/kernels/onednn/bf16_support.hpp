// Whether oneDNN multiplies bf16 on this processor.
//
// oneDNN has such kernels for AVX-512 alone. So it has none for AMD before Zen 4, none for today's Intel laptops and
// desktops, and none where the environment variable ONEDNN_MAX_CPU_ISA forbids them. There the backend refuses graphs
// in bf16.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

namespace sluice::kernels {

inline bool has_bf16_kernels() {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto avx512 = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return (isa & avx512) == avx512;
}

}  // namespace sluice::kernels
