#include "sluice/train/precision.hpp"

#include <cpuid.h>
#include <fmt/format.h>

namespace sluice {

std::string_view to_string(Precision precision) { return precision == Precision::kBF16 ? "bf16" : "fp32"; }

Result<Precision> parse_precision(std::string_view text) {
  if (text == "fp32") return Precision::kF32;
  if (text == "bf16") return Precision::kBF16;
  return Error{ErrorCode::kBadInput, fmt::format("unknown precision '{}'; write fp32 or bf16", text)};
}

bool cpu_computes_bf16() {
  constexpr unsigned kAmxBf16 = 1U << 22;  // leaf 7, EDX
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  const bool amx = __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & kAmxBf16) != 0;
  return amx || __builtin_cpu_supports("avx512bf16");
}

}  // namespace sluice
