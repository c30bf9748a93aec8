// Whether oneDNN multiplies bf16 on this processor.
//
// It has such kernels for AVX-512 alone: not for AMD before Zen 4, nor for Intel's laptops and desktops of today, nor
// where the environment variable ONEDNN_MAX_CPU_ISA forbids them. There the backend refuses graphs in bf16.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

namespace sluice {

inline bool has_bf16_kernels() {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto avx512 = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return (isa & avx512) == avx512;
}

}  // namespace sluice
