// What oneDNN is on this machine, without a word of oneDNN for whoever asks.
#pragma once

#include <string>

namespace sluice::kernels {

struct OneDnnFacts {
  std::string version;       // of the library that runs: "2.6.3"
  std::string instructions;  // the most that it uses: "avx512_core_amx"
  std::string allowed;       // ONEDNN_MAX_CPU_ISA, or DNNL_MAX_CPU_ISA; empty: all that there are
  bool avx2 = false, avx512 = false, amx = false;
};

OneDnnFacts read_onednn_facts();

}  // namespace sluice::kernels
