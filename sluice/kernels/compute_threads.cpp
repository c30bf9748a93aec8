#include "sluice/kernels/compute_threads.hpp"

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

}  // namespace sluice::kernels
