// Tests that need a GPU: where there is none they are skipped, with the reason.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sluice/gpu/gpu_memory.hpp"

namespace sluice::testing {

// In a test or a fixture's SetUp().
#define SLUICE_SKIP_WITHOUT_GPU()                                                        \
  if (const Result<memory::GpuFacts> gpu_there_is = gpu::find_gpu(); !gpu_there_is.ok()) \
  GTEST_SKIP() << gpu_there_is.error().message

// All cases, or where there is no GPU the first one, which stands for them: a skip each would say no more.
template <typename Case>
std::vector<Case> cases_on_gpu(std::vector<Case> cases) {
  if (!gpu::find_gpu().ok()) cases.erase(cases.begin() + 1, cases.end());
  return cases;
}

}  // namespace sluice::testing
