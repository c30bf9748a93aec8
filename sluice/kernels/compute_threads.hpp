// The threads that compute, for work beside kernels.
#pragma once

#include "sluice/base/threads/run_together.hpp"

namespace sluice::kernels {

// On `threads` threads of the caller's OpenMP team.
RunTogether on_compute_threads(int threads);

}  // namespace sluice::kernels
