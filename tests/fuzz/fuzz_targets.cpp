#include "tests/fuzz/fuzz_targets.hpp"

#include <array>

namespace sluice::tests {

std::span<const FuzzTarget> fuzz_targets() {
  static constexpr auto kTargets = std::to_array<FuzzTarget>({
      {"json", fuzz_json},
      {"text", fuzz_text},
      {"plan", fuzz_plan},
      {"verified_plan", fuzz_verified_plan},
      {"profile", fuzz_profile},
      {"cache", fuzz_cache},
      {"accesses", fuzz_accesses},
      {"machine", fuzz_machine},
      {"checkpoint", fuzz_checkpoint},
      {"allocation", fuzz_allocation},
      {"onnx", fuzz_onnx},
      {"data", fuzz_data},
  });
  return kTargets;
}

PlanCounts& plan_counts() {
  static PlanCounts counts;
  return counts;
}

}  // namespace sluice::tests
