#include "sluice/train/workload/precision.hpp"

#include <cpuid.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::train {

namespace {

constexpr std::array kPrecisions{std::pair(graph::Precision::kF32, "fp32"), std::pair(graph::Precision::kBF16, "bf16"),
                                 std::pair(graph::Precision::kBF16Masters, "bf16-masters"),
                                 std::pair(graph::Precision::kF16Masters, "fp16-masters")};

}  // namespace

std::string_view to_string(graph::Precision precision) {
  return std::ranges::find(kPrecisions, precision, [](const auto& each) { return each.first; })->second;
}

Result<graph::Precision> parse_precision(std::string_view text) {
  for (const auto& [precision, name] : kPrecisions) {
    if (text == name) return precision;
  }
  return Error{ErrorCode::kBadInput,
               fmt::format("unknown precision '{}'; write fp32, bf16, bf16-masters or fp16-masters", text)};
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

}  // namespace sluice::train
