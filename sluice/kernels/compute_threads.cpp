#include "sluice/kernels/compute_threads.hpp"

#include <omp.h>

namespace sluice::kernels {

RunTogether on_compute_threads(int threads) {
  return [threads](std::int64_t count, const std::function<void(std::int64_t)>& body) {
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (std::int64_t i = 0; i < count; ++i) body(i);
  };
}

void use_compute_threads(int threads) {
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
}

int most_compute_threads() { return omp_get_thread_limit(); }

}  // namespace sluice::kernels
