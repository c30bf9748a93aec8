#include "sluice/base/as_index.hpp"
#include "sluice/kernels/reference/reference_kernels.hpp"

namespace sluice::kernels {
namespace {

void running_sum(const ReferenceCall& call) {
  const auto x = call.input<float>(0);
  const auto y = call.output<float>(0);
  const graph::Shape& shape = call.input_shape(0);
  const auto axis = as_index(call.as<graph::RunningSumAttributes>().axis);
  const auto extent = as_index(shape[axis]);
  const auto stride =
      as_index(graph::element_count({shape.begin() + call.as<graph::RunningSumAttributes>().axis + 1, shape.end()}));
  for (std::size_t first = 0; first < x.size(); ++first) {
    if (first / stride % extent != 0) continue;  // no line begins here
    double sum = 0;
    for (std::size_t step = 0; step < extent; ++step) {
      const std::size_t i =
          first + (call.as<graph::RunningSumAttributes>().forwards ? step : extent - 1 - step) * stride;
      sum += x[i];
      y[i] = static_cast<float>(sum);
    }
  }
}

}  // namespace

SLUICE_REFERENCE_KERNEL(kRunningSum, running_sum)

}  // namespace sluice::kernels
