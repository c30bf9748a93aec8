// libFuzzer's entry to one target, SLUICE_FUZZ_TARGET.
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/fuzz_targets.hpp"

namespace {

void print_counts() {
  const auto& counts = sluice::tests::plan_counts();
  if (counts.verified == 0) return;
  std::fprintf(stderr, "%lld plans verified, %lld accepted\n", static_cast<long long>(counts.verified),
               static_cast<long long>(counts.accepted));
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** /*arguments*/) { return std::atexit(print_counts); }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sluice::tests::SLUICE_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
