#include "sluice/kernels/onednn/onednn_facts.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>
#include <utility>

namespace sluice::kernels {
namespace {

constexpr std::pair<dnnl::cpu_isa, const char*> kNames[] = {{dnnl::cpu_isa::sse41, "sse41"},
                                                            {dnnl::cpu_isa::avx, "avx"},
                                                            {dnnl::cpu_isa::avx2, "avx2"},
                                                            {dnnl::cpu_isa::avx2_vnni, "avx2_vnni"},
                                                            {dnnl::cpu_isa::avx512_core, "avx512_core"},
                                                            {dnnl::cpu_isa::avx512_core_vnni, "avx512_core_vnni"},
                                                            {dnnl::cpu_isa::avx512_core_bf16, "avx512_core_bf16"},
                                                            {dnnl::cpu_isa::avx512_core_amx, "avx512_core_amx"}};

bool includes(dnnl::cpu_isa all, dnnl::cpu_isa one) {
  return (static_cast<unsigned>(all) & static_cast<unsigned>(one)) == static_cast<unsigned>(one);
}

std::string name_of(dnnl::cpu_isa isa) {
  for (const auto& [known, name] : kNames) {
    if (known == isa) return name;
  }
  return fmt::format("instruction set {:#x}", static_cast<unsigned>(isa));
}

std::string value_of(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

}  // namespace

OneDnnFacts read_onednn_facts() {
  const dnnl_version_t* const version = dnnl_version();
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  const std::string allowed = value_of("ONEDNN_MAX_CPU_ISA");
  return {.version = fmt::format("{}.{}.{}", version->major, version->minor, version->patch),
          .instructions = name_of(isa),
          .allowed = allowed.empty() ? value_of("DNNL_MAX_CPU_ISA") : allowed,
          .avx2 = includes(isa, dnnl::cpu_isa::avx2),
          .avx512 = includes(isa, dnnl::cpu_isa::avx512_core),
          .amx = includes(isa, dnnl::cpu_isa::avx512_core_amx)};
}

}  // namespace sluice::kernels
