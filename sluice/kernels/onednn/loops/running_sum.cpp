// Running sums along an axis. Lines beside one another are summed together, in fp64; which ones depends on the shape alone.
#include <algorithm>
#include <array>

#include "sluice/base/as_index.hpp"
#include "sluice/kernels/onednn/loops/loop_kernel.hpp"
#include "sluice/kernels/onednn/vectors/element_loops.hpp"

namespace sluice::kernels {
namespace {

constexpr std::int64_t kLinesTogether = 64;
using LineSums = std::array<double, kLinesTogether>;

// x and y as [outer, extent, inner]: sums run along the middle.
struct SumSpace {
  SumSpace(const graph::Shape& shape, const graph::RunningSumAttributes& attributes)
      : outer(graph::element_count({shape.begin(), shape.begin() + attributes.axis})),
        extent(shape[as_index(attributes.axis)]),
        inner(graph::element_count({shape.begin() + attributes.axis + 1, shape.end()})),
        causal(attributes.forwards) {}

  std::int64_t outer, extent, inner;
  bool causal;
};

SLUICE_VECTOR_CLONES void add_row(const float* x, std::int64_t count, double* sums, float* y) {
  for (std::int64_t i = 0; i < count; ++i) {
    sums[i] += x[i];
    y[i] = static_cast<float>(sums[i]);
  }
}

void run(const SumSpace& space, const float* x, float* y) {
  const std::int64_t parts = (space.inner + kLinesTogether - 1) / kLinesTogether;
  for_rows(space.outer * parts, space.extent * std::min(space.inner, kLinesTogether), [&](std::int64_t part) {
    const std::int64_t line = part % parts * kLinesTogether;
    const std::int64_t first = part / parts * space.extent * space.inner + line;
    const std::int64_t count = std::min(kLinesTogether, space.inner - line);
    LineSums sums{};
    for (std::int64_t step = 0; step < space.extent; ++step) {
      const std::int64_t at = first + (space.causal ? step : space.extent - 1 - step) * space.inner;
      add_row(x + at, count, sums.data(), y + at);
    }
  });
}

KernelPtr make_running_sum(const KernelRequest& request, const dnnl::engine& /*engine*/) {
  const SumSpace space(request.inputs[0].shape, request.as<graph::RunningSumAttributes>());
  return std::make_unique<LoopKernel>(request, [space](Operands operands, const StepContext& /*context*/) {
    run(space, operand<const float>(operands, 0), operand<float>(operands, 1));
    return Status{};
  });
}

}  // namespace

KernelMakers running_sum_kernels() { return {{graph::OpKind::kRunningSum, make_running_sum}}; }

}  // namespace sluice::kernels
