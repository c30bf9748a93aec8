#include "sluice/kernels/compute_threads.hpp"

namespace sluice::kernels {

RunTogether on_compute_threads(int threads) {
  return [threads](std::int64_t count, const std::function<void(std::int64_t)>& body) {
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (std::int64_t i = 0; i < count; ++i) body(i);
  };
}

}  // namespace sluice::kernels
