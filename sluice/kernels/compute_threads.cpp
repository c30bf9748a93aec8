#include "sluice/kernels/compute_threads.hpp"

#include <omp.h>

#include "sluice/base/first_exception.hpp"

namespace sluice::kernels {

RunTogether on_compute_threads(int threads) {
  return [threads](std::int64_t count, const std::function<void(std::int64_t)>& body) {
    FirstException failed;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (std::int64_t i = 0; i < count; ++i) failed.run([&] { body(i); });
    failed.rethrow();
  };
}

void use_compute_threads(int threads) {
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
}

int most_compute_threads() { return omp_get_thread_limit(); }

}  // namespace sluice::kernels
