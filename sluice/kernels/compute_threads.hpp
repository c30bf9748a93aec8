// The threads that compute, for work beside kernels.
#pragma once

#include "sluice/base/threads/run_together.hpp"

namespace sluice::kernels {

// On `threads` threads of the caller's OpenMP team.
RunTogether on_compute_threads(int threads);

// From now on the calling thread's parallel regions have teams of exactly so many, whatever OMP_DYNAMIC says: kernels are
// made for a number of threads and meet at barriers of as many.
void use_compute_threads(int threads);

// How many OpenMP starts at most (OMP_THREAD_LIMIT), whatever it is asked for.
int most_compute_threads();

}  // namespace sluice::kernels
